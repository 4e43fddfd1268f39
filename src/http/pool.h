#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "http/connection.h"

namespace semel::http {

// The connections of one worker to one host and port, or to one `address` of that host. A
// connection is reused only if it was idle for less than `idle_max` and is quiet: if a request
// raced the server's own idle timeout, nobody would know whether it was taken.
class UpstreamPool {
 public:
  UpstreamPool(boost::asio::any_io_executor executor, Deadlines& deadlines, std::string host,
               std::uint16_t port, std::shared_ptr<const TlsClient> tls = nullptr,
               std::string address = {});

  // New connections use this TLS from now on; idle ones with another are closed.
  void use_tls(std::shared_ptr<const TlsClient> tls);
  // Returns an idle connection, or null.
  std::unique_ptr<Connection> take_idle(Duration idle_max);
  // Opens a new connection; `timeout` covers resolving the address, connecting and the TLS
  // handshake together. The error is a phrase for the log, and means that the upstream got nothing
  // of any request.
  boost::asio::awaitable<std::expected<std::unique_ptr<Connection>, std::string>> connect(
      Duration timeout);
  // Call when the exchange on the connection ended cleanly. Keeps it for reuse, unless the peer
  // sent more than its answer.
  void give_back(std::unique_ptr<Connection> connection);
  // Closes the connections that have been idle for longer than any route would use them.
  void prune(Duration idle_max);
  void clear() { idle_.clear(); }

 private:
  struct Idle {
    std::unique_ptr<Connection> connection;
    std::chrono::steady_clock::time_point since;
  };

  boost::asio::any_io_executor executor_;
  Deadlines& deadlines_;
  std::string host_;
  std::uint16_t port_;
  std::string address_;  // where to connect; the host, unless it is one of its addresses
  std::shared_ptr<const TlsClient> tls_;  // null: plain
  std::vector<Idle> idle_;                // longest idle first
};

}  // namespace semel::http
