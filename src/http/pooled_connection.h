#pragma once

#include <boost/asio/awaitable.hpp>
#include <expected>
#include <memory>
#include <string>

#include "http/pool.h"

namespace semel::http {

// The connection of one exchange: an idle one of the pool, or a new one. Closed with this object
// unless it was given back.
class PooledConnection {
 public:
  explicit PooledConnection(UpstreamPool& pool) : pool_(pool) {}

  // Takes an idle connection. False: there is none, or this is not the first call. A request that
  // found an idle connection closed is sent again on a new one, never on another idle one.
  bool take_idle(Duration idle_max);
  // Opens a new connection, in place of the one that there was; see UpstreamPool::connect().
  boost::asio::awaitable<std::expected<void, std::string>> connect(Duration timeout);
  // Returns whether the connection has served another exchange before.
  bool was_idle() const { return was_idle_; }

  explicit operator bool() const { return connection_ != nullptr; }
  Connection& operator*() const { return *connection_; }
  Connection* operator->() const { return connection_.get(); }

  // Keeps the connection for other exchanges if the answer was read to its end and the peer keeps
  // it open. Call it only if the whole request was sent: the peer would take the next one for the
  // rest of it.
  void give_back(const Response& answer);

 private:
  UpstreamPool& pool_;
  std::unique_ptr<Connection> connection_;
  bool looked_ = false;  // for an idle one
  bool was_idle_ = false;
};

}  // namespace semel::http
