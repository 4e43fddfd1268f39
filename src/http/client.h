#pragma once

#include <boost/asio/awaitable.hpp>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/pool.h"
#include "semel/answer.h"
#include "semel/time.h"

namespace semel::http {

// Sends small requests of Semel's own to one service, over pooled connections: who is this caller,
// may it still see this answer, what became of that attempt, take this message. Holds references
// only, and is cheap to make. Use it on the thread of its pool.
class Client {
 public:
  // `authority` is the value of the Host field.
  Client(UpstreamPool& pool, const Deadlines& deadlines, std::string authority)
      : pool_(pool), deadlines_(deadlines), authority_(std::move(authority)) {}

  struct Request {
    std::string method = "GET";
    std::string target = "/";          // path and query
    std::vector<Header> headers = {};  // besides Host and Content-Length; without line ends
    std::optional<std::string_view> body = {};  // must stay valid until the call has ended
    // Set it if the service acts once however often it gets the request. A GET may always be sent
    // again.
    bool is_repeatable = false;
    // all: an answer that is cut short, or whose body is too long, is an error.
    // head: the status and the fields are enough. The body is read and dropped, so that the
    // connection can be used again.
    enum class Wants { all, head };
    Wants wants = Wants::all;
    std::size_t answer_bytes_max = 64 * 1024;
  };

  struct Answer {
    int status = 0;
    std::vector<Header> headers;
    std::string body;
    // Returns the first field with that name, or nullopt.
    std::optional<std::string_view> header(std::string_view name) const;
  };

  // Sends the request and reads the answer. Sends it a second time only if it is repeatable and a
  // connection that had been idle turned out to be closed. `timeout` covers everything: name
  // resolution, connecting, the request, the answer.
  //
  // The error is a phrase for the log, never for a client. After an error nothing is known about
  // whether the service got the request.
  boost::asio::awaitable<std::expected<Answer, std::string>> ask(Request request, Duration timeout);

 private:
  UpstreamPool& pool_;
  const Deadlines& deadlines_;
  const std::string authority_;
};

}  // namespace semel::http
