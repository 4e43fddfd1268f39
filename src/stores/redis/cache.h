#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "semel/time.h"
#include "stores/cache/answer_cache.h"
#include "stores/redis/config.h"

namespace semel {

// Records in Redis, in front of a store that decides. The servers may evict, forget and be away as
// they like: what is not there in time is not there, and what came there late ends no later.
class RedisCache final : public AnswerCache {
 public:
  // What waits to be written there; beyond it nothing is kept.
  static constexpr std::size_t kPendingBytesMax = 32 << 20;

  // Each record is given for `kept_for` at most, since the store that decides was asked for it;
  // what is in progress for a moment only. A server that cannot be reached is no error; `warn` is
  // told of it, on the cache's thread. The error is a sentence for the operator.
  static std::expected<std::unique_ptr<RedisCache>, std::string> open(
      RedisConfig config, Duration kept_for, std::function<void(const std::string&)> warn);
  ~RedisCache() override;

  boost::asio::awaitable<RecordPtr> find(RecordId id, Time now) override;
  // These only begin: nobody waits for a cache to be filled. What one thread begins is carried out
  // in order.
  boost::asio::awaitable<void> keep(Record record, Asked asked) override;
  boost::asio::awaitable<void> drop(Outdated outdated) override;
  bool takes_running() const override { return true; }

  std::size_t pending_bytes() const;

 private:
  class Impl;
  explicit RedisCache(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace semel
