#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstdint>
#include <expected>
#include <string>

namespace semel::cli {

using HttpRequest = boost::beast::http::request<boost::beast::http::string_body>;
using HttpResponse = boost::beast::http::response<boost::beast::http::string_body>;

// For commands: sends one request in clear text on a connection of its own, and waits for the
// answer. Fills in Host, Connection and Content-Length. The error says what happened, not to whom.
std::expected<HttpResponse, std::string> http_ask(const std::string& host, std::uint16_t port,
                                                  HttpRequest request,
                                                  std::chrono::milliseconds timeout);

}  // namespace semel::cli
