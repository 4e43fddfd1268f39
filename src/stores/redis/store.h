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

// Keeps records in Redis: on one server, the master that Sentinels name, or a Cluster. Many
// processes may use it at the same time. Any thread may call.
//
// The safety of an Applied write depends on the servers (docs/redis.md). With `replicas`, that many
// replicas have acknowledged it, too, and also everything that is read. A write whose reply was
// lost, or that too few replicas acknowledged in time, is swap::Unknown.
//
// A version is a random number: none is used twice for an id, not even after Redis removed the
// record by itself or a failover undid writes.
//
// The destructor ends the calls that are under way and posts their results. Stop whatever runs the
// callers' coroutines before it, and destroy their execution contexts after it.
class RedisStore final : public Store {
 public:
  static constexpr std::size_t kRecordBytesMax = 64 << 20;

  // `warn` is called on the store's thread with sentences for the operator about what makes a
  // server forget. The error is such a sentence: the server cannot be reached, or must not be used.
  //
  // `answered` is called on the caller's thread with the time that each swap took.
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
  // Counts unknown records as of a few seconds ago, and what this process did since.
  StoreStats stats() const override;
  // Compares the servers' clocks with ours, and looks whether they evict, as of a few seconds ago.
  StoreDoubts doubts() const override;
  std::optional<std::string> trouble() const override;

 private:
  explicit RedisStore(std::unique_ptr<RedisThread> thread);
  std::unique_ptr<RedisThread> thread_;
  Answered answered_;
};

}  // namespace semel
