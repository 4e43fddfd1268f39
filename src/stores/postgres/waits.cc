#include "stores/postgres/waits.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "stores/postgres/rows.h"

namespace semel::stores {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr auto kRoundEvery = 10ms;
constexpr auto kLookEvery = 1s;
constexpr auto kLookAtHeldEvery = 50ms;
constexpr auto kLookTimeout = 5s;
constexpr std::size_t kClaimsAskedMax = 1000;  // in one statement

std::optional<RecordId> id_of_hex(std::string_view hex) {
  RecordId id;
  if (hex.size() != 2 * id.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    const char* at = hex.data() + 2 * i;
    if (std::from_chars(at, at + 2, id.bytes[i], 16).ptr != at + 2) return std::nullopt;
  }
  return id;
}

}  // namespace

PostgresWaits::PostgresWaits(asio::io_context& context, PostgresPool& pool)
    : pool_(pool), timer_(context) {}

void PostgresWaits::wait(const RecordId& id, const Token& token, Duration timeout, Resume resume) {
  if (closed_ || timeout <= Duration::zero()) return resume(true);
  const auto now = Steady::now();
  const Claim claim(id, token);
  // Longer than anybody waits, and short enough to be added to a time.
  const auto until = now + std::min<Duration>(timeout, std::chrono::hours(24));
  Entry& entry = entries_[claim];  // a new one is looked at now
  entry.waiters.push_back({++numbers_, until, std::move(resume)});
  deadlines_.emplace(until, std::pair(claim, numbers_));
  look(now);
  if (!ticking_) tick();
}

void PostgresWaits::tick() {
  ticking_ = !entries_.empty();
  if (!ticking_) return;
  timer_.expires_after(kRoundEvery);
  timer_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    const auto now = Steady::now();
    end_waits(now);
    look(now);
    tick();
  });
}

void PostgresWaits::end_waits(Steady::time_point now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const auto [claim, number] = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    const auto entry = entries_.find(claim);
    if (entry == entries_.end()) continue;
    auto& waiters = entry->second.waiters;
    const auto waiter =
        std::ranges::find_if(waiters, [&](const Waiter& one) { return one.number == number; });
    if (waiter == waiters.end()) continue;
    waiter->resume(true);
    waiters.erase(waiter);
    if (waiters.empty()) entries_.erase(entry);
  }
}

void PostgresWaits::resume_all(std::map<Claim, Entry>::iterator entry) {
  for (Waiter& waiter : entry->second.waiters) {
    auto [at, end] = deadlines_.equal_range(waiter.until);
    while (at != end && at->second.second != waiter.number) ++at;
    if (at != end) deadlines_.erase(at);
    waiter.resume(true);
  }
  entries_.erase(entry);
}

void PostgresWaits::look(Steady::time_point now) {
  postgres::PgConnection* connection = pool_.listener();
  if (!connection) return;
  std::vector<Claim> claims;
  for (auto& [claim, entry] : entries_) {
    if (entry.asking || entry.look_at > now) continue;
    entry.asking = true;
    claims.push_back(claim);
    if (claims.size() == kClaimsAskedMax) break;
  }
  if (claims.empty()) return;
  postgres::PgArray ids(postgres::PgType::bytea, claims.size());
  postgres::PgArray tokens(postgres::PgType::bytea, claims.size());
  for (const auto& [id, token] : claims) {
    ids.add(core::bytes_of(id));
    tokens.add(core::bytes_of(token));
  }
  std::vector<postgres::PgValue> parameters;
  parameters.push_back(std::move(ids).take());
  parameters.push_back(std::move(tokens).take());
  auto reply = [this, claims](postgres::PgReply replied) { looked(claims, std::move(replied)); };
  connection->send({.statement = pg_statement::kAwait,
                    .parameters = std::move(parameters),
                    .reply = std::move(reply),
                    .deadline = now + kLookTimeout});
}

void PostgresWaits::looked(const std::vector<Claim>& claims, postgres::PgReply reply) {
  const auto now = Steady::now();
  for (const Claim& claim : claims) {
    const auto entry = entries_.find(claim);
    if (entry == entries_.end()) continue;
    entry->second.asking = false;
    entry->second.look_at =
        now + (reply ? std::chrono::milliseconds(kLookEvery) : kLookAtHeldEvery);
  }
  if (!reply) return;
  for (int row = 0; row < reply->size(); ++row) {
    const auto entry =
        entries_.find(Claim(to_id(reply->bytes(row, 0)), to_token(reply->bytes(row, 1))));
    if (entry == entries_.end()) continue;
    const bool is_held = reply->number(row, 2) != 0;
    if (is_held) {
      entry->second.look_at = now + kLookAtHeldEvery;
    } else {
      resume_all(entry);
    }
  }
}

void PostgresWaits::notified(std::string_view payload) {
  while (!payload.empty()) {
    const std::size_t comma = std::min(payload.find(','), payload.size());
    const auto id = id_of_hex(payload.substr(0, comma));
    payload.remove_prefix(std::min(comma + 1, payload.size()));
    if (!id) continue;
    for (auto entry = entries_.lower_bound(Claim(*id, Token{}));
         entry != entries_.end() && entry->first.first == *id;) {
      resume_all(entry++);
    }
  }
}

void PostgresWaits::look_at_all() {
  for (auto& [claim, entry] : entries_) entry.look_at = {};
  look(Steady::now());
}

void PostgresWaits::close() {
  closed_ = true;
  while (!entries_.empty()) resume_all(entries_.begin());
  timer_.cancel();
}

}  // namespace semel::stores
