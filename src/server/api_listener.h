#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/address.h"
#include "http/connection.h"
#include "runtime/worker.h"
#include "semel/answer.h"
#include "server/api_connections.h"

namespace semel::server {

// One request on an ApiListener.
class ApiRequest {
 public:
  ApiRequest(ApiConnections& connections, http::Connection& client, http::Request& message)
      : connections_(connections), client_(client), message_(message) {}

  const http::Request& message() const { return message_; }

  enum class BodyError { too_large, cut_off };
  // Reads the body. Check who asks before: nobody without a token makes this process read one.
  boost::asio::awaitable<std::expected<std::string, BodyError>> read_body(std::size_t bytes_max);
  // Call it before work that may take longer than a client has for its request.
  void take_time() { client_.clear_deadline(); }
  // Returns false if the client has closed the connection, or sent more while it waits.
  bool still_waits() { return client_.is_quiet(); }

  // Begins an answer that has no end of its own; the connection ends with it. What the handler
  // returns is then not sent. False: the client is gone.
  boost::asio::awaitable<bool> begin_stream(const std::vector<Header>& headers);
  // Sends more of it. Holds nothing back: waits until the system has taken it. False: the client is
  // gone, or took nothing for as long as it has for anything.
  boost::asio::awaitable<bool> send(std::string_view piece);
  bool is_streamed() const { return streamed_; }

 private:
  ApiConnections& connections_;
  http::Connection& client_;
  http::Request& message_;
  bool streamed_ = false;
};

// Returns the token of `Authorization: Bearer TOKEN`; nullopt: there is none, or something else.
std::optional<std::string_view> bearer_of(const http::Request& request);

// A listener of one worker for programs and operators, beside the gateway's: HTTP/1, requests and
// answers that fit into memory, and answers that go on.
class ApiListener {
 public:
  struct Options {
    const char* name;  // for the log
    std::size_t connections_max;
  };
  using Answering = std::function<boost::asio::awaitable<Answer>(ApiRequest&)>;

  // Accepts once the worker runs, and answers by `answering`. The socket listens already.
  static std::unique_ptr<ApiListener> start(runtime::Worker& worker,
                                            boost::asio::ip::tcp::acceptor acceptor,
                                            Options options, Answering answering);
  config::HostPort listening() const;

 private:
  ApiListener(runtime::Worker& worker, boost::asio::ip::tcp::acceptor acceptor, Options options,
              Answering answering);
  boost::asio::awaitable<void> accept();
  boost::asio::awaitable<void> serve(boost::asio::ip::tcp::socket socket);

  runtime::Worker& worker_;
  const Options options_;
  const Answering answering_;
  // Shared with connections that may outlive this object: they end with the worker's loop.
  const std::shared_ptr<ApiConnections> connections_ = std::make_shared<ApiConnections>();
  boost::asio::ip::tcp::acceptor acceptor_;
};

}  // namespace semel::server
