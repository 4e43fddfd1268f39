// Queries without an id: sweep, scan, stats. Every bucket has indexes of its own and is asked by
// itself. An index may name a record that Redis has removed by itself; the index is then cleaned.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <numeric>
#include <utility>

#include "stores/redis/thread.h"

namespace semel::stores {
namespace asio = boost::asio;
using asio::awaitable;
using redis::Bucket;
using redis::CallResult;
using redis::Command;
using redis::kBuckets;

namespace {

constexpr auto kCountEvery = std::chrono::seconds(5);
// Number of due ids that every bucket is first asked for; doubled where that does not settle which
// are the earliest.
constexpr std::size_t kDueAtFirst = 16;
// How long one sweep looks for records behind those that cannot be read.
constexpr auto kSweepFor = std::chrono::milliseconds(500);

// "1735689600000"; scores are whole milliseconds.
long long score_of(const resp::RespReply& reply) {
  return reply.number().value_or(0);
}

}  // namespace

// Sends all commands at once, so that they share a pipeline.
awaitable<std::vector<CallResult>> RedisThread::call_all(std::vector<Command> commands) {
  std::vector<CallResult> results(commands.size(), std::unexpected(redis::Failed{}));
  if (commands.empty()) co_return results;
  std::exception_ptr first_failed;
  auto initiate = [&](auto handler) {
    struct Join {
      std::size_t left;
      decltype(handler) done;
    };
    auto join = std::make_shared<Join>(commands.size(), std::move(handler));
    for (std::size_t i = 0; i < commands.size(); ++i) {
      asio::co_spawn(
          io_, nodes_.call(std::move(commands[i])),
          [join, &results, &first_failed, i](std::exception_ptr failed, CallResult result) {
            if (failed && !first_failed) first_failed = failed;
            results[i] = std::move(result);
            if (--join->left == 0) std::move(join->done)();
          });
    }
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>&, void()>(std::move(initiate),
                                                                        asio::use_awaitable);
  if (first_failed) std::rethrow_exception(first_failed);
  co_return results;
}

awaitable<StoreResult<UnreadableRecords>> RedisThread::take_records(
    std::vector<RecordId> ids, std::vector<RecordPtr>& records) {
  std::vector<Command> gets;
  for (const RecordId& id : ids) {
    gets.push_back({.bucket = redis::bucket_of(id), .arguments = {"GET", redis::record_key(id)}});
  }
  const std::vector<CallResult> found = co_await call_all(std::move(gets));
  UnreadableRecords unreadable;
  std::vector<Command> cleanings;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!found[i]) co_return std::unexpected(unavailable(found[i].error()));
    const Bucket bucket = redis::bucket_of(ids[i]);
    if (found[i]->reply.is_nil()) {
      cleanings.push_back(
          {.bucket = bucket,
           .script = &redis::clean_script(),
           .arguments = {"4", redis::record_key(ids[i]), redis::due_key(bucket),
                         redis::ids_key(bucket), redis::unknown_key(bucket), redis::raw(ids[i])}});
      continue;
    }
    auto record = redis::from_value(ids[i], found[i]->reply.text());
    if (record) {
      records.push_back(*std::move(record));
    } else {
      unreadable.add(record.error());
    }
  }
  const std::vector<CallResult> cleaned = co_await call_all(std::move(cleanings));
  for (const CallResult& one : cleaned) {
    if (one && one->reply.number() == 1) ++removed_records_;
  }
  co_return unreadable;
}

awaitable<StoreResult<std::vector<RedisThread::Due>>> RedisThread::due_ids(Time now,
                                                                           std::size_t limit) {
  const std::string until = now == kNever ? "+inf" : std::to_string(now.time_since_epoch().count());
  std::vector<std::vector<Due>> by_bucket(kBuckets);
  std::vector<Bucket> open(kBuckets);
  std::iota(open.begin(), open.end(), Bucket{0});
  std::vector<Due> all;
  for (std::size_t each = std::min(kDueAtFirst, limit); !open.empty(); each *= 4) {
    std::vector<Command> commands;
    for (const Bucket bucket : open) {
      commands.push_back({.bucket = bucket,
                          .arguments = {"ZRANGEBYSCORE", redis::due_key(bucket), "-inf", until,
                                        "WITHSCORES", "LIMIT", "0", std::to_string(each)}});
    }
    const std::vector<CallResult> replies = co_await call_all(std::move(commands));
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (!replies[i]) co_return std::unexpected(unavailable(replies[i].error()));
      const resp::RespReply& reply = replies[i]->reply;
      auto& found = by_bucket[open[i]];
      found.clear();
      for (std::size_t j = 0; j + 1 < reply.size(); j += 2) {
        const auto id = redis::id_of(reply.at(j).text());
        if (id) found.push_back({.at = score_of(reply.at(j + 1)), .id = *id});
      }
    }
    all.clear();
    for (const auto& found : by_bucket) all.insert(all.end(), found.begin(), found.end());
    std::ranges::sort(all, {}, [](const Due& due) { return std::pair(due.at, due.id); });
    if (all.size() > limit) all.resize(limit);
    // A bucket that returned as many as it was asked for may have more that come before the last
    // one taken.
    std::vector<Bucket> unsettled;
    for (const Bucket bucket : open) {
      const auto& found = by_bucket[bucket];
      const bool may_have_more = found.size() == each && each < limit;
      if (may_have_more && (all.size() < limit || found.back().at < all.back().at)) {
        unsettled.push_back(bucket);
      }
    }
    open = std::move(unsettled);
  }
  co_return all;
}

// However many of the records that are due first cannot be read, those behind them have their turn:
// otherwise no lease among them would ever end.
awaitable<StoreResult<std::vector<RecordPtr>>> RedisThread::sweep(Time now, std::size_t limit) {
  const auto give_up = std::chrono::steady_clock::now() + kSweepFor;
  std::vector<RecordPtr> records;
  std::size_t offset = std::exchange(sweep_from_, 0);
  for (;;) {
    const auto due = co_await due_ids(now, offset + limit - records.size());
    if (!due) co_return std::unexpected(due.error());
    std::vector<RecordId> ids;
    for (std::size_t i = offset; i < due->size(); ++i) ids.push_back((*due)[i].id);
    offset += ids.size();
    const auto unreadable = co_await take_records(std::move(ids), records);
    if (!unreadable) co_return std::unexpected(unreadable.error());
    if (unreadable->count() == 0) co_return records;
    if (failed_) failed_("sweep", "Redis: " + unreadable->describe());
    if (records.size() >= limit) co_return records;
    if (std::chrono::steady_clock::now() >= give_up) {
      // The records that are returned are no longer due when the next sweep goes on here.
      sweep_from_ = offset - records.size();
      co_return records;
    }
  }
}

// The first byte of an id is its bucket, so buckets in order give ids in order.
awaitable<StoreResult<ScanPage>> RedisThread::scan(std::optional<RecordId> after,
                                                   std::size_t limit) {
  ScanPage page;
  std::optional<RecordId> last = after;
  for (std::size_t bucket = after ? redis::bucket_of(*after) : 0; bucket < kBuckets; ++bucket) {
    const auto current = static_cast<Bucket>(bucket);
    for (;;) {
      const std::size_t wanted = limit - page.records.size();
      const bool is_within = last && redis::bucket_of(*last) == current;
      // Asks for one more than is wanted, to learn whether there is one.
      Command command{.bucket = current,
                      .arguments = {"ZRANGEBYLEX", redis::ids_key(current),
                                    is_within ? "(" + redis::raw(*last) : "-", "+", "LIMIT", "0",
                                    std::to_string(wanted + 1)}};
      const CallResult result = co_await nodes_.call(std::move(command));
      if (!result) co_return std::unexpected(unavailable(result.error()));
      std::vector<RecordId> ids;
      for (std::size_t i = 0; i < result->reply.size(); ++i) {
        if (const auto id = redis::id_of(result->reply.at(i).text())) ids.push_back(*id);
      }
      const bool has_more = ids.size() > wanted;
      if (has_more) ids.resize(wanted);
      if (wanted == 0 && has_more) {
        page.next = last;
        co_return page;
      }
      if (ids.empty()) break;
      last = ids.back();
      const auto unreadable = co_await take_records(std::move(ids), page.records);
      if (!unreadable) co_return std::unexpected(unreadable.error());
      if (!has_more) break;
    }
  }
  co_return page;
}

// --- counting the unknown ------------------------------------------------------------------------

void RedisThread::note_unknowns(Bucket bucket, const resp::RespReply& count,
                                const resp::RespReply& oldest) {
  Unknowns noted{.count = static_cast<std::uint64_t>(count.number().value_or(0)),
                 .oldest = std::nullopt};
  if (const auto since = oldest.number()) noted.oldest = Time(Duration(*since));
  const std::lock_guard lock(mutex_);
  unknowns_[bucket] = noted;
}

awaitable<std::expected<void, std::string>> RedisThread::count_unknown() {
  std::vector<Command> commands;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    commands.push_back({.bucket = static_cast<Bucket>(bucket),
                        .script = &redis::count_script(),
                        .arguments = {"1", redis::unknown_key(static_cast<Bucket>(bucket))}});
  }
  const std::vector<CallResult> counted = co_await call_all(std::move(commands));
  std::expected<void, std::string> all;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    if (counted[bucket] && counted[bucket]->reply.size() == 2) {
      const resp::RespReply& reply = counted[bucket]->reply;
      note_unknowns(static_cast<Bucket>(bucket), reply.at(0), reply.at(1));
    } else {
      all = std::unexpected(counted[bucket] ? "its reply has an unexpected form"
                                            : counted[bucket].error().why);
    }
  }
  co_return all;
}

awaitable<void> RedisThread::keep_counting() {
  while (!closed_) {
    count_again_.expires_after(kCountEvery);
    boost::system::error_code ignored;
    co_await count_again_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    if (!closed_) (void)co_await count_unknown();
  }
}

StoreStats RedisThread::stats() const {
  StoreStats stats;
  stats.removed_records = removed_records_;
  const std::lock_guard lock(mutex_);
  stats.clock_ahead = clock_ahead();
  for (const Unknowns& one : unknowns_) {
    stats.unknown_records += one.count;
    if (one.oldest && (!stats.oldest_unknown || *one.oldest < *stats.oldest_unknown)) {
      stats.oldest_unknown = one.oldest;
    }
  }
  return stats;
}

StoreDoubts RedisThread::doubts() const {
  const std::lock_guard lock(mutex_);
  return doubts_now();
}

std::optional<std::string> RedisThread::trouble() const {
  const std::lock_guard lock(mutex_);
  if (trouble_) return trouble_;
  std::string doubts = doubts_sentence();
  if (doubts.empty()) return std::nullopt;
  return doubts;
}

}  // namespace semel::stores
