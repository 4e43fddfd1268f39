#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <string>

namespace semel::cli {

using HttpRequest = boost::beast::http::request<boost::beast::http::string_body>;
using HttpResponse = boost::beast::http::response<boost::beast::http::string_body>;

// Why there is no answer.
struct HttpFailure {
  std::string why;  // a phrase that says what happened, not to whom
  bool connected = false;
};

// A blocking client for commands: speaks to one server in clear text, each request on a connection
// of its own.
class HttpClient {
 public:
  HttpClient(std::string host, std::uint16_t port, std::chrono::milliseconds timeout)
      : host_(std::move(host)), port_(port), timeout_(timeout) {}

  // Called when the whole request was sent. False: go away without reading the answer.
  using WhenSent = std::function<bool()>;

  // Fills in Host, Connection and Content-Length, sends the request, and waits for the answer.
  std::expected<HttpResponse, HttpFailure> ask(
      HttpRequest request, const WhenSent& when_sent = [] { return true; }) const;

 private:
  const std::string host_;
  const std::uint16_t port_;
  const std::chrono::milliseconds timeout_;  // for the request and its answer
};

}  // namespace semel::cli
