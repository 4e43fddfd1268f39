// The promise: the cache never lets anything be executed. It answers only claims, only with
// completed records, and only with a conflict. If it were broken, a stale entry could let a key be
// executed twice.
#include "stores/caching.h"

#include <utility>

#include "engine/system.h"

namespace semel {
namespace {

namespace asio = boost::asio;

// A record that ends sooner than this is asked for below: clocks may differ.
constexpr Duration kEndsSoon = std::chrono::seconds(2);

bool may_be_kept(const Record& record) {
  return record.state == State::completed;
}

}  // namespace

bool CachingStore::may_be_given(const Record& found) const {
  const Time soon = after(inner_->now().value_or(SystemClock().now()), kEndsSoon);
  return may_be_kept(found) && found.expires_at > soon;
}

std::shared_ptr<const Record> CachingStore::completed_at_hand(const RecordId& id) {
  auto found = cache_->at_hand(id);
  return found && may_be_given(*found) ? found : nullptr;
}

asio::awaitable<SwapResult> CachingStore::swap(RecordId id, Version expected,
                                               std::optional<Record> next) {
  const bool is_claim = expected == 0 && next && !may_be_kept(*next);
  if (is_claim) {
    std::optional<Record> found = co_await cache_->find(id);
    if (found && may_be_given(*found)) co_return swap::Conflict{std::move(found)};
  }
  std::optional<Record> written;
  if (next && may_be_kept(*next)) written = next;
  SwapResult result = co_await inner_->swap(id, expected, std::move(next));
  const Record* seen = nullptr;
  if (const auto* applied = std::get_if<swap::Applied>(&result)) {
    if (written) {
      written->id = id;
      written->version = applied->version;
      seen = &*written;
    }
  } else if (const auto* conflict = std::get_if<swap::Conflict>(&result)) {
    if (conflict->current) seen = &*conflict->current;
  } else {
    // Nothing is known of it now.
    co_return result;
  }
  if (seen && may_be_kept(*seen)) {
    co_await cache_->keep(*seen);
  } else if (expected != 0) {
    // Whoever claims an absent record has looked here already.
    co_await cache_->drop(id);
  }
  co_return result;
}

}  // namespace semel
