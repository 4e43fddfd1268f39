// The promise: the cache never lets anything be executed. It answers only claims, only with records
// that are completed or in progress, and only with a conflict; a write based on its answer goes to
// the store below, under the version that was seen. If this were broken, a stale entry could let a
// key be executed twice.
#include "stores/cache/caching_store.h"

#include <utility>

#include "engine/system_clock.h"

namespace semel::stores {
namespace {

namespace asio = boost::asio;

// A record that expires sooner than this is left to the store below: clocks may differ.
constexpr Duration kEndsSoon = std::chrono::seconds(2);
constexpr std::size_t kEndedMax = 4096;

bool is_completed(const Record& record) {
  return record.state == RecordState::completed;
}

// A lease that has run out is left to the store to judge.
bool is_running(const Record& record, Time now) {
  return record.state == RecordState::in_progress && record.lease_until > now;
}

}  // namespace

void EndedClaims::add(const Token& token) {
  const std::lock_guard lock(mutex_);
  if (!tokens_.insert(token).second) return;
  order_.push_back(token);
  if (order_.size() <= kEndedMax) return;
  tokens_.erase(order_.front());
  order_.pop_front();
}

bool EndedClaims::has(const Token& token) const {
  const std::lock_guard lock(mutex_);
  return tokens_.contains(token);
}

// Returns whether the cached record may answer the claim. The caller's own claim, whose reply was
// lost, is never confirmed by the cache.
bool CachingStore::may_answer(const Record& found, const Token& claiming, Time now) const {
  if (is_completed(found)) return found.expires_at > after(now, kEndsSoon);
  return is_running(found, now) && found.token != claiming && !ended_.has(found.token);
}

asio::awaitable<SwapResult> CachingStore::swap(RecordId id, Version expected,
                                               std::shared_ptr<Record> next) {
  const AnswerCache::Asked asked{inner().now().value_or(engine::SystemClock().now()),
                                 std::chrono::steady_clock::now()};
  const bool is_claim = expected == 0 && next && !is_completed(*next);
  if (is_claim) {
    const RecordPtr found = co_await cache_->find(id, asked.at);
    if (found && may_answer(*found, next->token, asked.at)) {
      co_return swap::Conflict{std::make_shared<Record>(*found)};
    }
  }
  SwapResult result = co_await inner().swap(id, expected, next);
  std::shared_ptr<Record> seen;
  if (const auto* applied = std::get_if<swap::Applied>(&result)) {
    // A new claim is not cached.
    if (next && (is_completed(*next) || expected != 0)) {
      seen = std::make_shared<Record>(*next);
      seen->id = id;
      seen->version = applied->version;
    }
  } else if (const auto* conflict = std::get_if<swap::Conflict>(&result)) {
    seen = conflict->current;
  } else {
    co_return result;  // the record's state is not known now
  }
  if (seen) {
    co_await learn(*seen, asked, is_claim, expected);
  } else if (expected != 0) {
    co_await cache_->drop({.id = id, .at = asked.at});
  }
  co_return result;
}

// Also keeps a running claim that another claim has met: where one duplicate comes, more will.
asio::awaitable<void> CachingStore::learn(const Record& seen, AnswerCache::Asked asked,
                                          bool by_claim, Version expected) {
  const bool noted = by_claim && cache_->takes_running() && is_running(seen, asked.at);
  if (is_completed(seen) || noted) {
    co_await cache_->keep(seen, asked);
  } else if (expected != 0) {
    // Not needed for a claim of an absent record, which has looked in the cache already.
    co_await cache_->drop({.id = seen.id,
                           .at = seen.updated_at,
                           .is_running = seen.state == RecordState::in_progress});
  }
}

asio::awaitable<bool> CachingStore::ended(RecordId id, Token token, Duration timeout) {
  const bool told = co_await inner().ended(id, token, timeout);
  if (cache_->takes_running()) ended_.add(token);
  co_return told;
}

}  // namespace semel::stores
