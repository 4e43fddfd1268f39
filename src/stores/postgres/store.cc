#include "stores/postgres/store.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <utility>

#include "stores/postgres/rows.h"
#include "stores/postgres/thread.h"

namespace semel::stores {
namespace asio = boost::asio;
using asio::awaitable;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t kPageBytesMax = 8 << 20;
constexpr std::int32_t kRemovedAtOnce = 200;
constexpr std::int32_t kClaimsAtOnce = 4096;  // a few ms
// How long one sweep repeats each of these calls, and the pause in between that leaves room for
// others.
constexpr auto kRepeatFor = 500ms;
constexpr auto kRepeatPause = 10ms;

StoreUnavailable unavailable(const postgres::PgError& error) {
  return {.why = "PostgreSQL: " + error.why};
}

std::int32_t as_limit(std::size_t limit) {
  return static_cast<std::int32_t>(std::min<std::size_t>(limit, 1 << 20));
}

// Appends the records of a page, whose rows have the server's time first. Skips those that cannot
// be read.
UnreadableRecords take_records(const PostgresThread& thread, const postgres::PgRows& rows,
                               std::vector<RecordPtr>& records) {
  UnreadableRecords unreadable;
  for (int row = 0; row < rows.size(); ++row) {
    const Time now{Duration(rows.number(row, 0))};
    auto record = to_record(rows, row, 1, thread.clock().settled(now));
    if (record) {
      records.push_back(*std::move(record));
    } else {
      unreadable.add(record.error());
    }
  }
  return unreadable;
}

std::int64_t bytes_of_page(const postgres::PgRows& page) {
  std::int64_t bytes = 0;
  for (int row = 0; row < page.size(); ++row) bytes += content_bytes(page, row, 1);
  return bytes;
}

// Repeats a function of the server that handles up to `at_once` items per call and returns how many
// it was, until there is no more to do or kRepeatFor has passed. Returns the sum.
awaitable<StoreResult<std::int64_t>> repeat(PostgresThread& thread, const char* statement,
                                            std::vector<postgres::PgValue> parameters,
                                            std::int64_t at_once) {
  const auto until = std::chrono::steady_clock::now() + kRepeatFor;
  std::int64_t all = 0;
  for (;;) {
    const postgres::PgReply reply = co_await thread.call(statement, parameters);
    if (!reply) co_return std::unexpected(unavailable(reply.error()));
    const std::int64_t done = reply->number(0, 0);
    all += done;
    if (done < at_once || std::chrono::steady_clock::now() >= until) co_return all;
    co_await thread.pause(kRepeatPause);
  }
}

awaitable<StoreResult<void>> remove_expired(PostgresThread& thread, Time until) {
  std::vector<postgres::PgValue> parameters;
  parameters.push_back(postgres::pg_int4(kRemovedAtOnce));
  parameters.push_back(postgres::pg_int8(until.time_since_epoch().count()));
  const auto removed =
      co_await repeat(thread, pg_statement::kRemoveExpired, std::move(parameters), kRemovedAtOnce);
  if (!removed) co_return std::unexpected(removed.error());
  thread.count_removed(static_cast<std::uint64_t>(*removed));
  co_return StoreResult<void>{};
}

awaitable<StoreResult<void>> list_leases(PostgresThread& thread, Time now) {
  std::vector<postgres::PgValue> parameters;
  parameters.push_back(postgres::pg_int8(now.time_since_epoch().count()));
  parameters.push_back(postgres::pg_int4(kClaimsAtOnce));
  const auto listed =
      co_await repeat(thread, pg_statement::kListLeases, std::move(parameters), kClaimsAtOnce);
  if (!listed) co_return std::unexpected(listed.error());
  co_return StoreResult<void>{};
}

// However many of the records that are due first cannot be read, those behind them have their turn:
// otherwise no lease among them would ever end.
awaitable<StoreResult<std::vector<RecordPtr>>> read_due(PostgresThread& thread, Time now,
                                                        std::size_t limit) {
  const auto give_up = std::chrono::steady_clock::now() + kRepeatFor;
  std::vector<RecordPtr> records;
  std::int64_t bytes = 0;  // of the pages that `records` are from
  std::size_t offset = std::exchange(thread.sweep_from(), 0);
  for (;;) {
    std::vector<postgres::PgValue> parameters;
    parameters.push_back(postgres::pg_int8(now.time_since_epoch().count()));
    parameters.push_back(postgres::pg_int4(as_limit(limit - records.size())));
    parameters.push_back(postgres::pg_int8(kPageBytesMax));
    parameters.push_back(postgres::pg_int4(static_cast<std::int32_t>(offset)));
    const postgres::PgReply reply =
        co_await thread.call(pg_statement::kSweep, std::move(parameters));
    if (!reply) co_return std::unexpected(unavailable(reply.error()));
    thread.take_time(*reply);
    const std::size_t known = records.size();
    const UnreadableRecords unreadable = take_records(thread, *reply, records);
    if (unreadable.count() == 0) co_return records;
    thread.tell_of_unreadable(unreadable);
    if (records.size() > known) bytes += bytes_of_page(*reply);
    if (records.size() >= limit || bytes >= kPageBytesMax) co_return records;
    offset += static_cast<std::size_t>(reply->size());
    if (std::chrono::steady_clock::now() >= give_up) {
      // The records that are returned are no longer due when the next sweep goes on here.
      thread.sweep_from() = offset - records.size();
      co_return records;
    }
  }
}

awaitable<StoreResult<std::vector<RecordPtr>>> sweep_here(PostgresThread& thread, Time now,
                                                          std::size_t limit) {
  if (const auto until = thread.settled_time()) {
    const auto removed = co_await remove_expired(thread, *until);
    if (!removed) co_return std::unexpected(removed.error());
  }
  const auto listed = co_await list_leases(thread, now);
  if (!listed) co_return std::unexpected(listed.error());
  auto records = co_await read_due(thread, now, limit);
  if (!records) co_return records;
  // A page is read in parts, and a renewed lease is due later than the index says.
  std::ranges::sort(*records, {},
                    [](const RecordPtr& record) { return std::pair(due_at(*record), record->id); });
  co_return records;
}

awaitable<StoreResult<ScanPage>> scan_here(PostgresThread& thread, std::optional<RecordId> after,
                                           std::size_t limit) {
  std::vector<postgres::PgValue> parameters;
  parameters.push_back(postgres::pg_bytea(after ? core::bytes_of(*after) : std::string_view()));
  parameters.push_back(
      postgres::pg_int4(as_limit(limit) + 1));  // one more tells whether there are more
  parameters.push_back(postgres::pg_int8(kPageBytesMax));
  const postgres::PgReply reply = co_await thread.call(pg_statement::kScan, std::move(parameters));
  if (!reply) co_return std::unexpected(unavailable(reply.error()));
  thread.take_time(*reply);
  ScanPage page;
  take_records(thread, *reply, page.records);
  std::ranges::sort(page.records, {}, [](const RecordPtr& record) { return record->id; });
  std::vector<RecordId> ids;
  std::int64_t bytes = 0;
  for (int row = 0; row < reply->size(); ++row) {
    ids.push_back(to_id(reply->bytes(row, 1)));
    bytes += content_bytes(*reply, row, 1);
  }
  std::ranges::sort(ids);
  const bool is_cut = bytes >= kPageBytesMax;
  if (ids.size() > limit) {
    page.next = ids[limit - 1];
    std::erase_if(page.records, [&](const RecordPtr& record) { return record->id > *page.next; });
  } else if (is_cut) {
    page.next = ids.back();
  }
  co_return page;
}

class PostgresStore final : public Store {
 public:
  explicit PostgresStore(std::unique_ptr<PostgresThread> thread) : thread_(std::move(thread)) {}

  awaitable<StoreResult<RecordPtr>> read(RecordId id) override {
    auto begin = [thread = thread_.get(), id](PostgresQueue::ReadReply reply) {
      thread->queue().read(id, std::move(reply));
    };
    return thread_->ask<StoreResult<RecordPtr>>(std::move(begin));
  }

  awaitable<SwapResult> swap(RecordId id, Version expected, std::shared_ptr<Record> next) override {
    PgSwap wanted = to_swap(id, expected, next.get());
    if (wanted.bytes() > kRecordBytesMax) return too_large();
    auto begin = [thread = thread_.get(),
                  wanted = std::move(wanted)](PostgresQueue::SwapReply reply) mutable {
      thread->queue().swap(std::move(wanted), std::move(reply));
    };
    return thread_->ask<SwapResult>(std::move(begin));
  }

  awaitable<StoreResult<std::vector<RecordPtr>>> sweep(Time now, std::size_t limit) override {
    auto make = [thread = thread_.get(), now, limit] { return sweep_here(*thread, now, limit); };
    return thread_->run<StoreResult<std::vector<RecordPtr>>>(std::move(make));
  }

  awaitable<StoreResult<ScanPage>> scan(std::optional<RecordId> after, std::size_t limit) override {
    auto make = [thread = thread_.get(), after, limit] { return scan_here(*thread, after, limit); };
    return thread_->run<StoreResult<ScanPage>>(std::move(make));
  }

  awaitable<StoreResult<void>> put_chunk(RecordId id, Token token, std::uint32_t index,
                                         std::string bytes) override {
    std::vector<postgres::PgValue> parameters;
    parameters.push_back(postgres::pg_bytea(core::bytes_of(id)));
    parameters.push_back(postgres::pg_bytea(core::bytes_of(token)));
    parameters.push_back(postgres::pg_int4(static_cast<std::int32_t>(index)));
    parameters.push_back({std::move(bytes)});
    auto make = [thread = thread_.get(), parameters = std::move(parameters)]() mutable {
      return thread->call(pg_statement::kPutChunk, std::move(parameters));
    };
    const postgres::PgReply reply = co_await thread_->run<postgres::PgReply>(std::move(make));
    if (!reply) co_return std::unexpected(unavailable(reply.error()));
    co_return StoreResult<void>{};
  }

  awaitable<StoreResult<std::optional<std::string>>> get_chunk(RecordId id, Token token,
                                                               std::uint32_t index) override {
    std::vector<postgres::PgValue> parameters;
    parameters.push_back(postgres::pg_bytea(core::bytes_of(id)));
    parameters.push_back(postgres::pg_bytea(core::bytes_of(token)));
    parameters.push_back(postgres::pg_int4(static_cast<std::int32_t>(index)));
    auto make = [thread = thread_.get(), parameters = std::move(parameters)]() mutable {
      return thread->call(pg_statement::kGetChunk, std::move(parameters));
    };
    const postgres::PgReply reply = co_await thread_->run<postgres::PgReply>(std::move(make));
    if (!reply) co_return std::unexpected(unavailable(reply.error()));
    if (reply->size() == 0) co_return std::nullopt;
    co_return std::string(reply->bytes(0, 0));
  }

  awaitable<StoreResult<void>> drop_chunks(RecordId id, Token token) override {
    std::vector<postgres::PgValue> parameters;
    parameters.push_back(postgres::pg_bytea(core::bytes_of(id)));
    parameters.push_back(postgres::pg_bytea(core::bytes_of(token)));
    auto make = [thread = thread_.get(), parameters = std::move(parameters)]() mutable {
      return thread->call(pg_statement::kDropChunks, std::move(parameters));
    };
    const postgres::PgReply reply = co_await thread_->run<postgres::PgReply>(std::move(make));
    if (!reply) co_return std::unexpected(unavailable(reply.error()));
    co_return StoreResult<void>{};
  }

  awaitable<bool> ended(RecordId id, Token token, Duration timeout) override {
    auto begin = [thread = thread_.get(), id, token, timeout](PostgresWaits::Resume resume) {
      thread->waits().wait(id, token, timeout, std::move(resume));
    };
    return thread_->ask<bool>(std::move(begin));
  }

  std::optional<Time> now() const override {
    return thread_->clock().at(std::chrono::steady_clock::now());
  }

  StoreFeatures features() const override {
    return {
        .exclusive = false, .durable = true, .record_bytes_max = kRecordBytesMax, .chunks = true};
  }

  StoreStats stats() const override { return thread_->stats(); }

  std::optional<std::string> trouble() const override {
    const auto why = thread_->pool().trouble();
    if (!why) return std::nullopt;
    return "PostgreSQL: " + *why;
  }

 private:
  static constexpr std::size_t kRecordBytesMax = 64 << 20;

  static awaitable<SwapResult> too_large() { co_return swap::TooLarge{kRecordBytesMax}; }

  std::unique_ptr<PostgresThread> thread_;
};

}  // namespace

std::expected<std::unique_ptr<Store>, std::string> open_postgres_store(PostgresOptions options) {
  if (const auto why = postgres::PgLink::trouble_of_url(options.url)) {
    return std::unexpected("the store's url: " + *why);
  }
  auto thread = std::make_unique<PostgresThread>(std::move(options));
  const auto failed = thread->pool().first_outcome();
  if (failed && failed->unfit) return std::unexpected("PostgreSQL: " + failed->why);
  return std::make_unique<PostgresStore>(std::move(thread));
}

}  // namespace semel::stores
