#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include "semel/store.h"
#include "stores/embedded/options.h"

namespace semel {

class BlockingPool;
class CommitThread;
class EmbeddedDb;
class DiskSpace;
class LocalCache;

// Keeps records in RocksDB, in one directory that one process at a time has open. Swaps that wait
// at the same time are committed as one group. Any thread may call.
//
// A failed commit stops the store for good: its swaps return swap::Unknown, all later calls return
// StoreUnavailable, and only opening the store again shows what the disk has kept.
//
// The destructor commits the waiting swaps and posts their results. Stop whatever runs the callers'
// coroutines before it, and destroy their execution contexts after it.
class EmbeddedStore final : public Store {
 public:
  static constexpr std::size_t kRecordBytesMax = 64 << 20;

  // The error is a sentence for the operator.
  static std::expected<std::unique_ptr<EmbeddedStore>, std::string> open(
      const EmbeddedOptions& options);
  ~EmbeddedStore() override;

  boost::asio::awaitable<StoreResult<RecordPtr>> read(RecordId id) override;
  RecordPtr cached_completed(const RecordId& id) override;
  boost::asio::awaitable<SwapResult> swap(RecordId id, Version expected,
                                          std::shared_ptr<Record> next) override;
  // May return fewer than `limit` records although more are due, if they are large.
  boost::asio::awaitable<StoreResult<std::vector<RecordPtr>>> sweep(Time now,
                                                                    std::size_t limit) override;
  // A page may be shorter than `limit`, if its records are large.
  boost::asio::awaitable<StoreResult<ScanPage>> scan(std::optional<RecordId> after,
                                                     std::size_t limit) override;
  boost::asio::awaitable<StoreResult<void>> put_chunk(RecordId id, Token token, std::uint32_t index,
                                                      std::string bytes) override;
  boost::asio::awaitable<StoreResult<std::optional<std::string>>> get_chunk(
      RecordId id, Token token, std::uint32_t index) override;
  boost::asio::awaitable<StoreResult<void>> drop_chunks(RecordId id, Token token) override;
  StoreFeatures features() const override;
  StoreStats stats() const override;
  std::optional<std::string> trouble() const override;

 private:
  EmbeddedStore(std::unique_ptr<EmbeddedDb> db, const EmbeddedOptions& options);

  // Destroyed in reverse order: the threads end before the objects that they use.
  std::unique_ptr<DiskSpace> disk_;
  std::unique_ptr<EmbeddedDb> db_;
  std::unique_ptr<LocalCache> answers_;
  std::unique_ptr<CommitThread> commits_;
  std::unique_ptr<BlockingPool> reads_;
};

}  // namespace semel
