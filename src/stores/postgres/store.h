#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "semel/store.h"
#include "stores/postgres/options.h"

namespace semel {

class PostgresThread;

// Records in PostgreSQL, which any number of processes share. Swaps that wait at the same time go
// as one statement. Any thread may call.
//
// Nothing waits for another's transaction: a record that is locked is swap::Busy. While the
// database is away everything is StoreUnavailable at once; what was sent and not answered is
// swap::Unknown. Records that are past their time by the database's clock it removes by itself,
// when it is swept.
//
// Before the destructor, stop what runs the callers' coroutines; after it, destroy their execution
// contexts.
class PostgresStore final : public Store {
 public:
  static constexpr std::size_t kRecordBytesMax = 64 << 20;

  // Blocks until the server was reached, or could not be: then it goes on trying, and trouble()
  // says why. The error is a sentence for the operator: a server that was reached and must not be
  // used.
  static std::expected<std::unique_ptr<PostgresStore>, std::string> open(PostgresOptions options);
  ~PostgresStore() override;

  boost::asio::awaitable<StoreResult<RecordPtr>> read(RecordId id) override;
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
  boost::asio::awaitable<bool> ended(RecordId id, Token token, Duration timeout) override;
  std::optional<Time> now() const override;
  StoreFeatures features() const override;
  // A second or two behind.
  StoreStats stats() const override;
  std::optional<std::string> trouble() const override;

 private:
  explicit PostgresStore(std::unique_ptr<PostgresThread> thread);

  std::unique_ptr<PostgresThread> thread_;
};

}  // namespace semel
