#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <set>

#include "stores/redis/nodes.h"
#include "stores/redis/waiting.h"

namespace semel::stores::redis {

// Listens on every bucket's channel, with one connection per server, and hands the messages to
// Waiting. While a server cannot be listened to, the waiters poll. Use on the store's thread only.
class Listener {
 public:
  Listener(const Common& common, Nodes& nodes, Waiting& waiting);

  // Listens until close().
  boost::asio::awaitable<void> keep();
  // Call if the server of a bucket may have changed.
  void look();
  void close();

 private:
  using Buckets = std::set<Bucket>;
  struct Ear {
    std::shared_ptr<resp::RespConnection> connection;
    Buckets buckets;
  };

  boost::asio::awaitable<void> adjust();
  boost::asio::awaitable<void> listen(RedisAddress to, Buckets buckets);
  void ping();
  void heard(const resp::RespReply& message);

  const Common& common_;
  Nodes& nodes_;
  Waiting& waiting_;
  std::map<RedisAddress, Ear> ears_;
  boost::asio::steady_timer again_;
  bool has_changed_ = false;
  bool closed_ = false;
};

}  // namespace semel::stores::redis
