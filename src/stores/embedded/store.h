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

// Records in RocksDB, in one directory that one process at a time has open. Swaps that wait at the
// same time are committed as one group. Any thread may call.
//
// A commit that fails stops the store for good: its swaps are swap::Unknown, everything later is
// StoreUnavailable, and only opening it anew tells what the disk has kept.
//
// The destructor finishes the swaps that wait for their commit and posts their results. Before it,
// stop what runs the callers' coroutines; after it, destroy their execution contexts.
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
  // Fewer than `limit` records may come back although more are due, if they are large.
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

  // The last one first: the threads end before what they use.
  std::unique_ptr<DiskSpace> disk_;
  std::unique_ptr<EmbeddedDb> db_;
  std::unique_ptr<LocalCache> answers_;
  std::unique_ptr<CommitThread> commits_;
  std::unique_ptr<BlockingPool> reads_;
};

}  // namespace semel
