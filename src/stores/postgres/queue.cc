// The promise: a swap is answered with the server's result for it, or with "unknown" if it was sent
// and the server said nothing. A swap that was never sent, or whose batch was refused as a whole,
// wrote nothing.
#include "stores/postgres/queue.h"

#include <algorithm>
#include <utility>

namespace semel::stores {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

// semel.versions counts in steps that are larger than a batch. A new record takes an entry of the
// server's lock table until its batch is committed.
constexpr std::size_t kClaimsMax = 256;
constexpr std::size_t kChangesMax = 512;
constexpr std::size_t kReadsMax = 256;
constexpr std::size_t kBatchBytesMax = 4 << 20;
// A connection that is still busy gets another batch only if the batch is at least this large: a
// call costs the server more than a record does, so that fewer and larger batches are cheaper.
constexpr std::size_t kLargeBatch = 128;
// For the same reason a batch waits until its size is at least 1/kLeastPart of the number of swaps
// in flight; not for long, since those may be on a connection that has gone silent.
constexpr std::size_t kLeastPart = 4;
constexpr auto kWaitForMore = 100ms;
constexpr auto kReplyTimeout = 5s;
constexpr auto kWaitMax = 5s;
// A record that is held by another transaction is mostly in a batch of another node, which commits
// in a moment.
constexpr auto kHeldAtMost = 30ms;
constexpr auto kLookAgain = 3ms;
// Limit on the records in one reply. Those that are left out are asked for again.
constexpr std::int64_t kReplyBytesMax = 8 << 20;
// The columns of a batch's reply: its last row has the first three columns, the other rows have the
// record.
enum SwapColumn : int { kAt, kBase, kVersions, kFound };

// Returns a deadline that suffices for this many bytes over a slow network, too.
PostgresClock::Steady::time_point deadline_of(std::size_t bytes) {
  constexpr std::size_t kBytesPerSecond = 1 << 20;
  return PostgresClock::Steady::now() + kReplyTimeout +
         std::chrono::seconds(bytes / kBytesPerSecond);
}

Time server_time(const postgres::PgRows& rows, int row) {
  return Time(Duration(rows.number(row, kAt)));
}

// The records of a reply: its rows before `end`, each from `column` on.
class Found {
 public:
  Found() = default;
  Found(const postgres::PgRows& rows, int end, int column) {
    for (int row = 0; row < end; ++row) {
      rows_.emplace(to_id(rows.bytes(row, column)), row);
      bytes_ += content_bytes(rows, row, column);
    }
  }
  std::optional<int> row_of(const RecordId& id) const {
    const auto row = rows_.find(id);
    if (row == rows_.end()) return std::nullopt;
    return row->second;
  }
  // Returns whether a record that is missing may only have been left out.
  bool is_cut() const { return bytes_ >= kReplyBytesMax; }

 private:
  std::unordered_map<RecordId, int> rows_;
  std::int64_t bytes_ = 0;
};

}  // namespace

PostgresQueue::PostgresQueue(asio::io_context& context, PostgresPool& pool, PostgresClock& clock,
                             std::function<void(const GroupCommit&)> committed)
    : pool_(pool), clock_(clock), committed_(std::move(committed)), rest_(context) {}

void PostgresQueue::swap(PgSwap swap, SwapReply reply) {
  const RecordId id = swap.id;
  Swap asked{.swap = std::move(swap),
             .reply = std::move(reply),
             .since = Steady::now(),
             .number = asked_++,
             .held_since = std::nullopt};
  const auto [present, is_first] = behind_.try_emplace(id);
  if (is_first) {
    ready_.push(std::move(asked));
  } else {
    present->second.push_back(std::move(asked));
  }
}

void PostgresQueue::read(const RecordId& id, ReadReply reply) {
  const auto [read, is_first] = reads_.try_emplace(id);
  if (is_first) {
    read->second.since = Steady::now();
    read_order_.push_back(id);
  }
  read->second.replies.push_back(std::move(reply));
}

void PostgresQueue::call(const char* statement, std::vector<postgres::PgValue> parameters,
                         std::move_only_function<void(postgres::PgReply)> reply) {
  std::size_t bytes = 0;
  for (const postgres::PgValue& value : parameters) bytes += value.bytes ? value.bytes->size() : 0;
  calls_.push_back({{.statement = statement,
                     .parameters = std::move(parameters),
                     .reply = std::move(reply),
                     .deadline = deadline_of(bytes)},
                    Steady::now()});
}

void PostgresQueue::dispatch() {
  if (closed_ || !pool_.has_any()) {
    const auto why = pool_.trouble();
    return fail_all(why ? "PostgreSQL: " + *why : "PostgreSQL: the connection was lost");
  }
  // Takes turns, so that no kind keeps the others waiting.
  constexpr int kKinds = 3;
  for (int idle = 0; idle < kKinds;) {
    turn_ = (turn_ + 1) % kKinds;
    const bool sent = turn_ == 0 ? send_swaps() : turn_ == 1 ? send_reads() : send_call();
    idle = sent ? 0 : idle + 1;
  }
}

bool PostgresQueue::send_swaps() {
  if (ready_.size() == 0) return false;
  if (ready_.size() < on_their_way_ / kLeastPart &&
      Steady::now() - ready_.older().front().since < kWaitForMore) {
    return false;
  }
  const auto room = pool_.with_room(ready_.size() >= kLargeBatch);
  if (!room) return false;
  Batch batch{.swaps = take_swaps(), .asked_before = asked_};
  on_their_way_ += batch.swaps.size();
  std::vector<PgSwap*> swaps;
  std::size_t bytes = 0;
  for (Swap& one : batch.swaps) {
    swaps.push_back(&one.swap);
    bytes += one.swap.bytes();
  }
  auto parameters = swap_parameters(swaps, room->item_types, kReplyBytesMax);
  auto reply = [this, batch = std::move(batch)](postgres::PgReply replied) mutable {
    swapped(std::move(batch), std::move(replied));
  };
  room->connection.send({.statement = pg_statement::kSwap,
                         .parameters = std::move(parameters),
                         .reply = std::move(reply),
                         .deadline = deadline_of(bytes)});
  return true;
}

std::vector<PostgresQueue::Swap> PostgresQueue::take_swaps() {
  std::vector<Swap> taken;
  const bool is_small = ready_.size() < kLargeBatch;
  take_from(ready_.older(), taken);
  if (is_small) {
    take_from(ready_.claims, taken);
    take_from(ready_.changes, taken);
  }
  return taken;
}

void PostgresQueue::take_from(std::deque<Swap>& ready, std::vector<Swap>& taken) const {
  if (!taken.empty() && taken.back().alone) return;
  std::size_t bytes = 0;
  for (const Swap& one : taken) bytes += one.swap.bytes();
  const std::size_t most = &ready == &ready_.claims ? kClaimsMax : kChangesMax;
  while (!ready.empty() && taken.size() < most) {
    Swap& next = ready.front();
    bytes += next.swap.bytes();
    const bool fits = bytes <= kBatchBytesMax && !next.alone;
    if (!taken.empty() && !fits) return;
    taken.push_back(std::move(next));
    ready.pop_front();
    if (taken.back().alone) return;
  }
}

void PostgresQueue::Ready::push(Swap swap) {
  auto& kind = swap.swap.expected == 0 ? claims : changes;
  kind.push_back(std::move(swap));
}

std::deque<PostgresQueue::Swap>& PostgresQueue::Ready::older() {
  if (claims.empty()) return changes;
  if (changes.empty()) return claims;
  return claims.front().since < changes.front().since ? claims : changes;
}

PostgresQueue::Swap PostgresQueue::Ready::pop() {
  std::deque<Swap>& from = older();
  Swap first = std::move(from.front());
  from.pop_front();
  return first;
}

void PostgresQueue::swapped(Batch batch, postgres::PgReply reply) {
  on_their_way_ -= batch.swaps.size();
  if (!reply) {
    refused(std::move(batch), reply.error());
    return dispatch();
  }
  const postgres::PgRows& rows = *reply;
  const auto now = Steady::now();
  const int last = rows.size() - 1;
  clock_.saw(rows.number(last, kAt), rows.asked_at, now);
  const Time at = server_time(rows, last);
  const std::int64_t base = rows.number(last, kBase);
  const auto versions = rows.numbers(last, kVersions);
  std::vector<std::optional<Version>> applied(batch.swaps.size());
  for (const std::int64_t version : versions) {
    applied.at(static_cast<std::size_t>(version - base - 1)) = static_cast<Version>(version);
  }
  const Found found(rows, last, kFound);

  if (committed_ && !versions.empty()) {
    committed_({.swaps = versions.size(), .longest_wait = now - batch.swaps.front().since});
  }
  for (std::size_t i = 0; i < batch.swaps.size(); ++i) {
    Swap& one = batch.swaps[i];
    const Version expected = one.swap.expected;
    SwapResult result = swap::Conflict{};
    const auto row = found.row_of(one.swap.id);
    if (applied[i]) {
      result = swap::Applied{one.swap.removes ? 0 : *applied[i]};
      changed_ = true;
    } else if (row) {
      auto record = to_record(rows, *row, kFound, clock_.settled(at));
      if (!record) {
        result = std::move(record.error());
      } else if ((*record)->version == expected) {
        result = swap::Busy{*std::move(record)};
      } else {
        result = swap::Conflict{*std::move(record)};
      }
    } else if (found.is_cut() && !closed_) {
      ready_.push(std::move(one));
      continue;
    } else if (expected == 0) {
      result = one.swap.removes ? SwapResult(swap::Applied{}) : SwapResult(swap::Busy{});
    }
    settle(std::move(one), std::move(result), batch.asked_before);
  }
  dispatch();
}

void PostgresQueue::settle(Swap swap, SwapResult result, std::uint64_t asked_before) {
  const RecordId id = swap.swap.id;
  if (std::holds_alternative<swap::Busy>(result)) {
    const auto now = Steady::now();
    if (!swap.held_since) swap.held_since = now;
    if (now - *swap.held_since < kHeldAtMost && !closed_) return rest_a_while(std::move(swap));
  }
  settle_those_behind(id, result, asked_before);
  let_next(id);
  swap.reply(std::move(result));
}

// Answers swaps that were asked for before the batch was sent with the record that the batch saw,
// so that a thousand duplicates of a key cost no more than a few.
void PostgresQueue::settle_those_behind(const RecordId& id, const SwapResult& seen,
                                        std::uint64_t asked_before) {
  const auto* conflict = std::get_if<swap::Conflict>(&seen);
  const auto* busy = std::get_if<swap::Busy>(&seen);
  if (!conflict && !busy) return;
  const std::shared_ptr<Record>& current = conflict ? conflict->current : busy->current;
  // Each gets a record of its own.
  const auto copy = [&] { return current ? std::make_shared<Record>(*current) : nullptr; };
  auto& behind = behind_.at(id);
  while (!behind.empty() && behind.front().number < asked_before) {
    const bool as_expected = behind.front().swap.expected == (current ? current->version : 0);
    if (as_expected && !busy) return;
    Swap next = std::move(behind.front());
    behind.pop_front();
    next.reply(as_expected ? SwapResult(swap::Busy{copy()}) : SwapResult(swap::Conflict{copy()}));
  }
}

void PostgresQueue::let_next(const RecordId& id) {
  const auto present = behind_.find(id);
  if (present->second.empty()) {
    behind_.erase(present);
    return;
  }
  ready_.push(std::move(present->second.front()));
  present->second.pop_front();
}

void PostgresQueue::rest_a_while(Swap swap) {
  const auto until = Steady::now() + kLookAgain;
  const bool is_first = resting_.empty();
  resting_.emplace(until, std::move(swap));
  if (is_first) wake_rested();
}

void PostgresQueue::wake_rested() {
  rest_.expires_at(resting_.begin()->first);
  rest_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    const auto now = Steady::now();
    while (!resting_.empty() && resting_.begin()->first <= now) {
      ready_.push(std::move(resting_.begin()->second));
      resting_.erase(resting_.begin());
    }
    if (!resting_.empty()) wake_rested();
    dispatch();
  });
}

void PostgresQueue::refused(Batch batch, const postgres::PgError& error) {
  // The server may have refused the batch because of one item: try each by itself.
  if (!error.lost && !error.sqlstate.empty() && batch.swaps.size() > 1 && !closed_ &&
      error.sqlstate != postgres::sqlstate::kReadOnlyTransaction) {
    for (Swap& one : batch.swaps) {
      one.alone = true;
      ready_.push(std::move(one));
    }
    return;
  }
  for (Swap& one : batch.swaps) {
    SwapResult result = StoreUnavailable{"PostgreSQL: " + error.why};
    if (error.lost) result = swap::Unknown{"PostgreSQL: " + error.why};
    settle(std::move(one), std::move(result), batch.asked_before);
  }
}

bool PostgresQueue::send_reads() {
  if (read_order_.empty()) return false;
  const auto room = pool_.with_room(read_order_.size() >= kLargeBatch);
  if (!room) return false;
  std::vector<RecordId> ids;
  std::vector<std::pair<RecordId, Read>> taken;
  while (!read_order_.empty() && ids.size() < kReadsMax) {
    ids.push_back(read_order_.front());
    read_order_.pop_front();
    const auto read = reads_.find(ids.back());
    taken.emplace_back(ids.back(), std::move(read->second));
    reads_.erase(read);
  }
  std::vector<postgres::PgValue> parameters;
  parameters.push_back(ids_parameter(ids));
  parameters.push_back(postgres::pg_int8(kReplyBytesMax));
  auto reply = [this, taken = std::move(taken)](postgres::PgReply replied) mutable {
    read_done(std::move(taken), std::move(replied));
  };
  room->connection.send({.statement = pg_statement::kRead,
                         .parameters = std::move(parameters),
                         .reply = std::move(reply),
                         .deadline = Steady::now() + kReplyTimeout});
  return true;
}

void PostgresQueue::read_done(std::vector<std::pair<RecordId, Read>> reads,
                              postgres::PgReply reply) {
  const Found found = reply ? Found(*reply, reply->size(), 1) : Found();
  if (reply && reply->size() > 0) {
    clock_.saw(reply->number(0, kAt), reply->asked_at, Steady::now());
  }
  for (auto& [id, read] : reads) {
    ReadResult result = nullptr;
    const auto row = found.row_of(id);
    if (!reply) {
      result = std::unexpected(StoreUnavailable{"PostgreSQL: " + reply.error().why});
    } else if (row) {
      result = to_record(*reply, *row, 1, clock_.settled(server_time(*reply, *row)));
    } else if (found.is_cut() && !closed_) {
      read_again(id, std::move(read));
      continue;
    }
    for (ReadReply& one : read.replies) one(result);
  }
  dispatch();
}

// Queues a read again. Others may have asked for the same record meanwhile.
void PostgresQueue::read_again(const RecordId& id, Read read) {
  const auto [present, is_first] = reads_.try_emplace(id);
  if (is_first) {
    present->second = std::move(read);
    read_order_.push_back(id);
    return;
  }
  for (ReadReply& one : read.replies) present->second.replies.push_back(std::move(one));
}

bool PostgresQueue::send_call() {
  if (calls_.empty()) return false;
  const auto room = pool_.with_room(false);
  if (!room) return false;
  Call next = std::move(calls_.front());
  calls_.pop_front();
  next.call.reply = [this, reply = std::move(next.call.reply)](postgres::PgReply replied) mutable {
    reply(std::move(replied));
    dispatch();
  };
  next.call.deadline += Steady::now() - next.since;
  room->connection.send(std::move(next.call));
  return true;
}

void PostgresQueue::fail_all(const std::string& why) {
  const StoreUnavailable unavailable{why};
  for (auto& [until, resting] : std::exchange(resting_, {})) ready_.push(std::move(resting));
  rest_.cancel();
  // Those behind become ready as those before them are settled.
  while (ready_.size() > 0) {
    Swap next = ready_.pop();
    settle(std::move(next), unavailable, 0);
  }
  read_order_.clear();
  for (auto& [id, read] : std::exchange(reads_, {})) {
    for (ReadReply& one : read.replies) one(std::unexpected(unavailable));
  }
  for (Call& one : std::exchange(calls_, {})) {
    one.call.reply(std::unexpected(postgres::PgError{.why = why, .sqlstate = {}}));
  }
}

void PostgresQueue::look_at_deadlines() {
  const auto too_old = Steady::now() - kWaitMax;
  const StoreUnavailable overdue{"PostgreSQL: no connection had room in time"};
  while (ready_.size() > 0 && ready_.older().front().since < too_old) {
    Swap next = ready_.pop();
    settle(std::move(next), overdue, 0);
  }
  while (!read_order_.empty() && reads_.at(read_order_.front()).since < too_old) {
    Read read = std::move(reads_.at(read_order_.front()));
    reads_.erase(read_order_.front());
    read_order_.pop_front();
    for (ReadReply& one : read.replies) one(std::unexpected(overdue));
  }
  while (!calls_.empty() && calls_.front().since < too_old) {
    Call next = std::move(calls_.front());
    calls_.pop_front();
    next.call.reply(std::unexpected(postgres::PgError{.why = overdue.why, .sqlstate = {}}));
  }
  if (ready_.size() > 0) dispatch();  // swaps that have waited for more
}

void PostgresQueue::close() {
  closed_ = true;
  dispatch();
}

}  // namespace semel::stores
