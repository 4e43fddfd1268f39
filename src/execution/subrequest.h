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

// One small request of our own to a service that the configuration names: who is this caller, may
// it still see this answer, what became of that attempt.
namespace semel {

struct SubRequest {
  std::string method = "GET";
  std::string target = {};           // path and query; "": the URL's own
  std::vector<Header> headers = {};  // beside Host and the body's length
  std::optional<std::string> body = {};
  std::size_t answer_bytes_max = 64 * 1024;  // a longer body is a failure, not cut
};

struct SubAnswer {
  int status = 0;
  std::vector<Header> headers;
  std::string body;
  // The first field of that name, or nullopt.
  std::optional<std::string_view> header(std::string_view name) const;
};

// Sends it and reads the whole answer. Only a GET is sent a second time, where a connection that
// had been idle turned out to be closed. `timeout` is for all of it together: name resolution,
// connecting, the request, the answer.
//
// The error is a phrase for the log, never for a client. After an error nothing is known about
// whether the service got the request.
//
// On the worker's thread. Values of headers come from a parsed message or from the configuration:
// they contain no line ends.
boost::asio::awaitable<std::expected<SubAnswer, std::string>> subrequest(Worker& worker, Url url,
                                                                         SubRequest request,
                                                                         Duration timeout);

}  // namespace semel
