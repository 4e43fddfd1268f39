#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "semel/store.h"
#include "stores/postgres/options.h"

namespace semel {

class PostgresThread;

// Keeps records in PostgreSQL, shared by any number of processes. Swaps that wait at the same time
// are sent as one statement. Any thread may call.
//
// Never waits for another transaction: a locked record is swap::Busy. While the database is away
// every call is StoreUnavailable at once; a swap that was sent and not answered is swap::Unknown.
// When swept, the store removes by itself the records that are past their time by the database's
// clock.
//
// Stop whatever runs the callers' coroutines before the destructor, and destroy their execution
// contexts after it.
class PostgresStore final : public Store {
 public:
  static constexpr std::size_t kRecordBytesMax = 64 << 20;

  // Blocks until the server was reached or could not be. In the latter case the store goes on
  // trying, and trouble() says why. The error, a sentence for the operator, means that the server
  // was reached and must not be used.
  static std::expected<std::unique_ptr<PostgresStore>, std::string> open(PostgresOptions options);
  ~PostgresStore() override;

  boost::asio::awaitable<StoreResult<RecordPtr>> read(RecordId id) override;
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
  boost::asio::awaitable<bool> ended(RecordId id, Token token, Duration timeout) override;
  std::optional<Time> now() const override;
  StoreFeatures features() const override;
  // Out of date by a second or two.
  StoreStats stats() const override;
  std::optional<std::string> trouble() const override;

 private:
  explicit PostgresStore(std::unique_ptr<PostgresThread> thread);

  std::unique_ptr<PostgresThread> thread_;
};

}  // namespace semel
