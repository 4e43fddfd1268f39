#pragma once

#include <boost/asio/awaitable.hpp>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "runtime/worker.h"
#include "semel/record.h"
#include "semel/time.h"

// Sends one small request of our own to a service that the configuration names: who is this caller,
// may it still see this answer, what became of that attempt.
namespace semel {

struct SubRequest {
  std::string method = "GET";
  std::string target = {};           // path and query; "": the URL's own
  std::vector<Header> headers = {};  // besides Host and Content-Length
  std::optional<std::string> body = {};
  std::size_t answer_bytes_max = 64 * 1024;  // a longer body is an error, never cut short
};

struct SubAnswer {
  int status = 0;
  std::vector<Header> headers;
  std::string body;
  // Returns the first field with that name, or nullopt.
  std::optional<std::string_view> header(std::string_view name) const;
};

// Sends the request and reads the whole answer. Sends only a GET a second time, if a connection
// that had been idle turned out to be closed. `timeout` covers everything: name resolution,
// connecting, the request, the answer.
//
// The error is a phrase for the log, never for a client. After an error nothing is known about
// whether the service got the request.
//
// Runs on the worker's thread. Header values come from a parsed message or from the configuration,
// so they contain no line ends.
boost::asio::awaitable<std::expected<SubAnswer, std::string>> subrequest(Worker& worker, Url url,
                                                                         SubRequest request,
                                                                         Duration timeout);

}  // namespace semel
