// Claims that clients of the service API hold. The promise: such a claim ends by its client's
// report or with its lease, never because a process of Semel has ended, and reporting again changes
// nothing.
//
// If a report does not land, the client is told so and repeats it; if it does not, the lease runs
// out and the key becomes unknown.
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "engine/engine_impl.h"

namespace semel {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

// Watches a record for as long as it lives.
class Watching {
 public:
  Watching(engine::Watches& watches, const RecordId& id, SteadyTime deadline)
      : watches_(watches), watch_(watches.add(id, deadline)) {}
  ~Watching() { watches_.remove(watch_); }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;
  const engine::Watches::WatchPtr& watch() const { return watch_; }

 private:
  engine::Watches& watches_;
  const engine::Watches::WatchPtr watch_;
};

bool holds(const Record* record, const Token& token) {
  return record && record->state == RecordState::in_progress && record->token == token;
}

}  // namespace

void Engine::Impl::wake_watchers(const Record* before, const Record* after) {
  if (!before || before->state != RecordState::in_progress) return;
  if (!holds(after, before->token)) watches.wake(before->id);
}

awaitable<Reported> Engine::Impl::apply_report(RecordPtr held, core::Event event) {
  const RecordId id = held->id;
  Applied applied = co_await apply(id, std::move(held), event);
  if (auto* unavailable = std::get_if<Unavailable>(&applied)) {
    co_return StoreUnavailable{std::move(unavailable->why), unavailable->unreadable};
  }
  if (std::holds_alternative<swap::TooLarge>(applied)) co_return client_claim::TooLarge{};
  auto& changed = std::get<Changed>(applied);
  if (std::holds_alternative<core::verdict::Done>(changed.verdict) && changed.after) {
    co_return client_claim::Recorded{std::move(changed.after)};
  }
  co_return client_claim::Stale{std::move(changed.after)};
}

awaitable<Reported> Engine::renew(RecordPtr held, Duration lease) {
  const Token token = held->token;
  return impl_->apply_report(std::move(held), core::event::Renew{token, lease});
}

awaitable<Reported> Engine::report(RecordPtr held, Outcome outcome) {
  const Token token = held->token;
  return impl_->apply_report(std::move(held),
                             core::event::Finish{.token = token, .outcome = std::move(outcome)});
}

awaitable<bool> Engine::watch(RecordId id, Token token, Duration timeout) {
  const Watching watching(impl_->watches, id, after(impl_->clock.steady(), timeout));
  const auto found = co_await impl_->store.read(id);
  if (!found || !holds(found->get(), token) || impl_->stopped) co_return false;
  auto initiate = [this, &watching](auto handler) {
    auto work = asio::make_work_guard(handler);
    auto shared = std::make_shared<decltype(handler)>(std::move(handler));
    impl_->watches.wait(watching.watch(), [work = std::move(work), shared]() mutable {
      asio::post(work.get_executor(), [shared] { (*shared)(); });
    });
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>&, void()>(std::move(initiate),
                                                                        asio::use_awaitable);
  co_return true;
}

}  // namespace semel
