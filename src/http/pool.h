#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "http/connection.h"

namespace semel::net {

// The connections of one worker to one upstream address. A connection is used again only if it was
// idle for less than `idle_max` and is quiet: a request that races the server's own idle timeout
// would end with nobody knowing whether it was taken.
class UpstreamPool {
 public:
  UpstreamPool(boost::asio::any_io_executor executor, Deadlines& deadlines, std::string host,
               std::uint16_t port, std::shared_ptr<const TlsClient> tls = nullptr);

  // New connections get this TLS from now on; idle ones of another are closed.
  void use_tls(std::shared_ptr<const TlsClient> tls);
  // An idle connection, or null.
  std::unique_ptr<Connection> take_idle(Duration idle_max);
  // A new connection; `timeout` is for finding the address, connecting and the TLS handshake
  // together. The error is a phrase for the log: the upstream got nothing of any request.
  boost::asio::awaitable<std::expected<std::unique_ptr<Connection>, std::string>> connect(
      Duration timeout);
  // The exchange on it ended cleanly. It may be used again, unless the peer sent more than its
  // answer.
  void give_back(std::unique_ptr<Connection> connection);
  // Closes what has been idle for longer than any route would use it.
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
  std::shared_ptr<const TlsClient> tls_;  // null: plain
  std::vector<Idle> idle_;                // the longest idle first
};

}  // namespace semel::net
