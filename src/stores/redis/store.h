#pragma once

#include <chrono>
#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "semel/store.h"
#include "stores/redis/config.h"

namespace semel {

class RedisThread;

// Records in Redis: one server, the master that Sentinels name, or a Cluster. Many processes may
// use it at the same time. Any thread may call.
//
// What an Applied is worth depends on the servers (docs/redis.md): with `replicas` it was also
// acknowledged by that many of them, and so was what is read. A write whose reply was lost, or that
// too few replicas acknowledged in time, is swap::Unknown.
//
// A version is a random number: none is used twice for an id, also not after Redis removed the
// record by itself or a failover took writes back.
//
// The destructor ends what is under way and posts its results. Before it, stop what runs the
// callers' coroutines; after it, destroy their execution contexts.
class RedisStore final : public Store {
 public:
  static constexpr std::size_t kRecordBytesMax = 64 << 20;

  // `warn` is told, on the store's thread, in sentences for the operator, what makes a server
  // forget. The error is such a sentence: the server cannot be reached, or must not be used.
  //
  // `answered` is told how long each swap took, on the caller's thread.
  using Answered = std::function<void(std::chrono::nanoseconds)>;
  static std::expected<std::unique_ptr<RedisStore>, std::string> open(
      RedisConfig config, std::function<void(const std::string&)> warn, Answered answered = {});
  ~RedisStore() override;

  boost::asio::awaitable<StoreResult<RecordPtr>> read(RecordId id) override;
  boost::asio::awaitable<SwapResult> swap(RecordId id, Version expected,
                                          std::shared_ptr<Record> next) override;
  boost::asio::awaitable<StoreResult<std::vector<RecordPtr>>> sweep(Time now,
                                                                    std::size_t limit) override;
  boost::asio::awaitable<StoreResult<ScanPage>> scan(std::optional<RecordId> after,
                                                     std::size_t limit) override;
  boost::asio::awaitable<StoreResult<void>> put_chunk(RecordId id, Token token, std::uint32_t index,
                                                      std::string bytes) override;
  boost::asio::awaitable<StoreResult<std::optional<std::string>>> get_chunk(
      RecordId id, Token token, std::uint32_t index) override;
  boost::asio::awaitable<StoreResult<void>> drop_chunks(RecordId id, Token token) override;
  boost::asio::awaitable<bool> ended(RecordId id, Token token, Duration timeout) override;
  StoreFeatures features() const override;
  // Of the unknown records: as of a few seconds ago, and of what this process did since.
  StoreStats stats() const override;
  // The servers' clocks and ours, and whether they evict, as of a few seconds ago.
  StoreDoubts doubts() const override;
  std::optional<std::string> trouble() const override;

 private:
  explicit RedisStore(std::unique_ptr<RedisThread> thread);
  std::unique_ptr<RedisThread> thread_;
  Answered answered_;
};

}  // namespace semel
