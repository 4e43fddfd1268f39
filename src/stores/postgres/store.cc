#include "stores/postgres/store.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <utility>

#include "engine/system.h"
#include "stores/postgres/rows.h"
#include "stores/postgres/thread.h"

namespace semel {
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

StoreUnavailable unavailable(const PgError& error) {
  return {.why = "PostgreSQL: " + error.why};
}

std::int32_t as_limit(std::size_t limit) {
  return static_cast<std::int32_t>(std::min<std::size_t>(limit, 1 << 20));
}

// Returns the records of a page, whose rows have the server's time first. Skips a record that
// cannot be read: whoever reads it by its id gets the error.
std::vector<RecordPtr> to_records(const PostgresThread& thread, const PgRows& rows) {
  std::vector<RecordPtr> records;
  for (int row = 0; row < rows.size(); ++row) {
    const Time now{Duration(rows.number(row, 0))};
    auto record = to_record(rows, row, 1, thread.clock().settled(now));
    if (record) records.push_back(*std::move(record));
  }
  return records;
}

// Repeats a function of the server that handles up to `at_once` items per call and returns how many
// it was, until there is no more to do or kRepeatFor has passed. Returns the sum.
awaitable<StoreResult<std::int64_t>> repeat(PostgresThread& thread, const char* statement,
                                            std::vector<PgValue> parameters, std::int64_t at_once) {
  const auto until = std::chrono::steady_clock::now() + kRepeatFor;
  std::int64_t all = 0;
  for (;;) {
    const PgReply reply = co_await thread.call(statement, parameters);
    if (!reply) co_return std::unexpected(unavailable(reply.error()));
    const std::int64_t done = reply->number(0, 0);
    all += done;
    if (done < at_once || std::chrono::steady_clock::now() >= until) co_return all;
    co_await thread.pause(kRepeatPause);
  }
}

awaitable<StoreResult<void>> remove_expired(PostgresThread& thread, Time until) {
  std::vector<PgValue> parameters;
  parameters.push_back(pg_int4(kRemovedAtOnce));
  parameters.push_back(pg_int8(until.time_since_epoch().count()));
  const auto removed =
      co_await repeat(thread, pg_statement::kRemoveExpired, std::move(parameters), kRemovedAtOnce);
  if (!removed) co_return std::unexpected(removed.error());
  thread.count_removed(static_cast<std::uint64_t>(*removed));
  co_return StoreResult<void>{};
}

awaitable<StoreResult<void>> list_leases(PostgresThread& thread, Time now) {
  std::vector<PgValue> parameters;
  parameters.push_back(pg_int8(now.time_since_epoch().count()));
  parameters.push_back(pg_int4(kClaimsAtOnce));
  const auto listed =
      co_await repeat(thread, pg_statement::kListLeases, std::move(parameters), kClaimsAtOnce);
  if (!listed) co_return std::unexpected(listed.error());
  co_return StoreResult<void>{};
}

awaitable<StoreResult<std::vector<RecordPtr>>> sweep_here(PostgresThread& thread, Time now,
                                                          std::size_t limit) {
  if (const auto until = thread.settled_time()) {
    const auto removed = co_await remove_expired(thread, *until);
    if (!removed) co_return std::unexpected(removed.error());
  }
  const auto listed = co_await list_leases(thread, now);
  if (!listed) co_return std::unexpected(listed.error());
  std::vector<PgValue> parameters;
  parameters.push_back(pg_int8(now.time_since_epoch().count()));
  parameters.push_back(pg_int4(as_limit(limit)));
  parameters.push_back(pg_int8(kPageBytesMax));
  const PgReply reply = co_await thread.call(pg_statement::kSweep, std::move(parameters));
  if (!reply) co_return std::unexpected(unavailable(reply.error()));
  thread.take_time(*reply);
  std::vector<RecordPtr> records = to_records(thread, *reply);
  // A page is read in parts, and a renewed lease is due later than the index says.
  std::ranges::sort(records, {},
                    [](const RecordPtr& record) { return std::pair(due_at(*record), record->id); });
  co_return records;
}

awaitable<StoreResult<ScanPage>> scan_here(PostgresThread& thread, std::optional<RecordId> after,
                                           std::size_t limit) {
  std::vector<PgValue> parameters;
  parameters.push_back(pg_bytea(after ? bytes_of(*after) : std::string_view()));
  parameters.push_back(pg_int4(as_limit(limit) + 1));  // one more tells whether there are more
  parameters.push_back(pg_int8(kPageBytesMax));
  const PgReply reply = co_await thread.call(pg_statement::kScan, std::move(parameters));
  if (!reply) co_return std::unexpected(unavailable(reply.error()));
  thread.take_time(*reply);
  ScanPage page{.records = to_records(thread, *reply), .next = std::nullopt};
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

awaitable<SwapResult> too_large() {
  co_return swap::TooLarge{PostgresStore::kRecordBytesMax};
}

}  // namespace

std::expected<std::unique_ptr<PostgresStore>, std::string> PostgresStore::open(
    PostgresOptions options) {
  if (const auto why = PgLink::trouble_of_url(options.url)) {
    return std::unexpected("the store's url: " + *why);
  }
  auto thread = std::make_unique<PostgresThread>(std::move(options));
  const auto failed = thread->pool().first_outcome();
  if (failed && failed->unfit) return std::unexpected("PostgreSQL: " + failed->why);
  return std::unique_ptr<PostgresStore>(new PostgresStore(std::move(thread)));
}

PostgresStore::PostgresStore(std::unique_ptr<PostgresThread> thread) : thread_(std::move(thread)) {}

PostgresStore::~PostgresStore() = default;

awaitable<StoreResult<RecordPtr>> PostgresStore::read(RecordId id) {
  auto begin = [thread = thread_.get(), id](PostgresQueue::ReadReply reply) {
    thread->queue().read(id, std::move(reply));
  };
  return thread_->ask<StoreResult<RecordPtr>>(std::move(begin));
}

awaitable<SwapResult> PostgresStore::swap(RecordId id, Version expected,
                                          std::shared_ptr<Record> next) {
  PgSwap wanted = to_swap(id, expected, next.get());
  if (wanted.bytes() > kRecordBytesMax) return too_large();
  auto begin = [thread = thread_.get(),
                wanted = std::move(wanted)](PostgresQueue::SwapReply reply) mutable {
    thread->queue().swap(std::move(wanted), std::move(reply));
  };
  return thread_->ask<SwapResult>(std::move(begin));
}

awaitable<StoreResult<std::vector<RecordPtr>>> PostgresStore::sweep(Time now, std::size_t limit) {
  auto make = [thread = thread_.get(), now, limit] { return sweep_here(*thread, now, limit); };
  return thread_->run<StoreResult<std::vector<RecordPtr>>>(std::move(make));
}

awaitable<StoreResult<ScanPage>> PostgresStore::scan(std::optional<RecordId> after,
                                                     std::size_t limit) {
  auto make = [thread = thread_.get(), after, limit] { return scan_here(*thread, after, limit); };
  return thread_->run<StoreResult<ScanPage>>(std::move(make));
}

awaitable<StoreResult<void>> PostgresStore::put_chunk(RecordId id, Token token, std::uint32_t index,
                                                      std::string bytes) {
  std::vector<PgValue> parameters;
  parameters.push_back(pg_bytea(bytes_of(id)));
  parameters.push_back(pg_bytea(bytes_of(token)));
  parameters.push_back(pg_int4(static_cast<std::int32_t>(index)));
  parameters.push_back({std::move(bytes)});
  auto make = [thread = thread_.get(), parameters = std::move(parameters)]() mutable {
    return thread->call(pg_statement::kPutChunk, std::move(parameters));
  };
  const PgReply reply = co_await thread_->run<PgReply>(std::move(make));
  if (!reply) co_return std::unexpected(unavailable(reply.error()));
  co_return StoreResult<void>{};
}

awaitable<StoreResult<std::optional<std::string>>> PostgresStore::get_chunk(RecordId id,
                                                                            Token token,
                                                                            std::uint32_t index) {
  std::vector<PgValue> parameters;
  parameters.push_back(pg_bytea(bytes_of(id)));
  parameters.push_back(pg_bytea(bytes_of(token)));
  parameters.push_back(pg_int4(static_cast<std::int32_t>(index)));
  auto make = [thread = thread_.get(), parameters = std::move(parameters)]() mutable {
    return thread->call(pg_statement::kGetChunk, std::move(parameters));
  };
  const PgReply reply = co_await thread_->run<PgReply>(std::move(make));
  if (!reply) co_return std::unexpected(unavailable(reply.error()));
  if (reply->size() == 0) co_return std::nullopt;
  co_return std::string(reply->bytes(0, 0));
}

awaitable<StoreResult<void>> PostgresStore::drop_chunks(RecordId id, Token token) {
  std::vector<PgValue> parameters;
  parameters.push_back(pg_bytea(bytes_of(id)));
  parameters.push_back(pg_bytea(bytes_of(token)));
  auto make = [thread = thread_.get(), parameters = std::move(parameters)]() mutable {
    return thread->call(pg_statement::kDropChunks, std::move(parameters));
  };
  const PgReply reply = co_await thread_->run<PgReply>(std::move(make));
  if (!reply) co_return std::unexpected(unavailable(reply.error()));
  co_return StoreResult<void>{};
}

awaitable<bool> PostgresStore::ended(RecordId id, Token token, Duration timeout) {
  auto begin = [thread = thread_.get(), id, token, timeout](PostgresWaits::Resume resume) {
    thread->waits().wait(id, token, timeout, std::move(resume));
  };
  return thread_->ask<bool>(std::move(begin));
}

std::optional<Time> PostgresStore::now() const {
  return thread_->clock().at(std::chrono::steady_clock::now());
}

StoreFeatures PostgresStore::features() const {
  return {.exclusive = false, .durable = true, .record_bytes_max = kRecordBytesMax, .chunks = true};
}

StoreStats PostgresStore::stats() const {
  return thread_->stats();
}

std::optional<std::string> PostgresStore::trouble() const {
  const auto why = thread_->pool().trouble();
  if (!why) return std::nullopt;
  return "PostgreSQL: " + *why;
}

}  // namespace semel
