#pragma once

#include <boost/asio/awaitable.hpp>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "http/pooled_connection.h"
#include "runtime/worker.h"

namespace semel::runtime {

// The connection of one exchange with the upstreams of a route.
//
// The promise: it moves on to another upstream only while not a byte of the request has been sent.
// If it were broken, a request that one upstream may have taken would reach another, too.
//
//   while (auto opened = co_await link.open()) {
//     ... write the request; leave the loop unless the kernel took nothing of it
//   }
class UpstreamLink {
 public:
  // The route has to outlive it.
  UpstreamLink(Worker& worker, const Route& route);

  // Opens a connection for the request: an idle one, or a new one, to the first upstream that can
  // be reached. Call it again only if nothing was sent on the last one: then a new connection takes
  // the place of an idle one, and the next upstream that of one whose new connection broke. The
  // error says why the last of them could not be reached.
  boost::asio::awaitable<std::expected<void, std::string>> open();
  // Opens a new connection to the same upstream, for a request that may be repeated, after one that
  // was_idle().
  boost::asio::awaitable<std::expected<void, std::string>> open_again();
  // Returns whether the connection has served another exchange before.
  bool was_idle() const { return connection_->was_idle(); }
  // The upstream that the connection leads to.
  const config::Upstream& upstream() const { return route_->upstreams[target_->upstream]; }

  explicit operator bool() const { return connection_ && *connection_; }
  http::Connection& operator*() const { return **connection_; }
  http::Connection* operator->() const { return &**connection_; }

  // See http::PooledConnection.
  void give_back(const http::Response& answer) { connection_->give_back(answer); }

 private:
  // Turns to the next upstream. False: all were tried.
  bool turn_to_next();
  boost::asio::awaitable<std::expected<void, std::string>> connect(Duration patience);
  void unreachable(const std::string& why);

  Worker& worker_;
  const Route& route_;
  std::optional<Endpoint::Instant> give_up_;
  std::vector<std::shared_ptr<EndpointPool>> tried_;  // without the present one
  std::optional<UpstreamTarget> target_;
  std::optional<Counted> exchange_;  // at the target
  std::optional<http::PooledConnection> connection_;
  bool took_idle_ = false;  // from any of them
};

}  // namespace semel::runtime
