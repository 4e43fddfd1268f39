#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "semel/time.h"
#include "stores/cache/answer_cache.h"
#include "stores/redis/config.h"

namespace semel::stores {

// Caches records in Redis, in front of the authoritative store. The servers may evict, forget and
// be away as they like: a record that does not come in time counts as absent, and one that was
// stored late ends no later.
class RedisCache final : public AnswerCache {
 public:
  // Limit on the bytes that wait to be written to Redis; beyond it nothing is written.
  static constexpr std::size_t kPendingBytesMax = 32 << 20;

  // The cache returns a record for at most `kept_for` after the authoritative store was asked for
  // it; a record in progress for a moment only. A server that cannot be reached is not an error:
  // `warn` is called on the cache's thread. The error is a sentence for the operator.
  static std::expected<std::unique_ptr<RedisCache>, std::string> open(
      RedisConfig config, Duration kept_for, std::function<void(const std::string&)> warn);
  ~RedisCache() override;

  boost::asio::awaitable<RecordPtr> find(RecordId id, Time now) override;
  // These calls only begin the write: nobody waits for a cache to be filled. The writes that one
  // thread begins are carried out in order.
  boost::asio::awaitable<void> keep(Record record, Asked asked) override;
  boost::asio::awaitable<void> drop(Outdated outdated) override;
  bool takes_running() const override { return true; }

  std::size_t pending_bytes() const;

 private:
  class Impl;
  explicit RedisCache(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace semel::stores
