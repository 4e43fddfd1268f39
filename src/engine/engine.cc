// The promise: nothing is executed unless its claim is durable, nothing is answered as done unless
// its outcome is durable, and a write whose fate is not known counts as neither.
//
// If finish() never lands, the key becomes unknown when its lease runs out. It is never silently
// run again.
#include "semel/engine.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <stdexcept>
#include <utility>

#include "engine/engine_impl.h"

namespace semel {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

// An execution is in the table from before its claim is written until it is finished; if the claim
// does not come about, it leaves again by itself.
class Entered {
 public:
  Entered(Executions& running, RecordId id, Token token)
      : running_(running), id_(id), token_(token) {
    running_.enter(id_, token_);
  }
  ~Entered() {
    if (!kept_) running_.leave(id_, token_, nullptr);
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  void keep() { kept_ = true; }

 private:
  Executions& running_;
  RecordId id_;
  Token token_;
  bool kept_ = false;
};

struct ToAdmission {
  Record& record;
  const Policy& policy;
  Admission operator()(const verdict::Execute&) const {
    return admission::Execute{{std::move(record), policy}};
  }
  Admission operator()(const verdict::Replay&) const {
    return admission::Replay{std::move(record)};
  }
  Admission operator()(const verdict::Mismatch& mismatch) const {
    return admission::Mismatch{mismatch.differs};
  }
  Admission operator()(const verdict::Busy&) const { return admission::Busy{std::move(record)}; }
  Admission operator()(const verdict::OutcomeUnknown&) const {
    return admission::OutcomeUnknown{std::move(record)};
  }
  Admission operator()(const verdict::Expired&) const { return admission::Expired{}; }
  Admission operator()(const verdict::VersionChanged&) const { return admission::VersionChanged{}; }
  Admission operator()(const auto&) const { throw std::logic_error("a claim has no such verdict"); }
};

Admission to_admission(const Verdict& verdict, Record record, const Policy& policy) {
  return std::visit(ToAdmission{record, policy}, verdict);
}

const Record* put_of(const Change& change) {
  const auto* put = std::get_if<Put>(&change);
  return put ? &put->next : nullptr;
}

}  // namespace

Holder Engine::Impl::holder_of(const Record& record) const {
  if (running.has(record.id, record.token)) return Holder::running_here;
  // Here nobody else has the store open, so what is not running in this process does not run.
  if (exclusive) return Holder::gone;
  return Holder::unsure;
}

awaitable<Engine::Impl::Applied> Engine::Impl::apply(RecordId id, std::optional<Record> known,
                                                     Event event) {
  bool unsure = false;  // an earlier write may have landed
  Backoff backoff(options);
  const Time give_up = after(clock.now(), options.patience);
  for (;;) {
    const Time now = clock.now();
    Decision decision = transition(known, event, now);
    std::optional<Record> next;
    Version expected = known ? known->version : 0;
    if (std::holds_alternative<Keep>(decision.change)) {
      // What is seen may be our own write on its way to being durable: only a write proves it.
      if (!unsure || !known || !std::holds_alternative<verdict::Done>(decision.verdict)) {
        co_return Changed{known, known, std::move(decision.verdict)};
      }
      next = known;
    } else if (const Record* put = put_of(decision.change)) {
      next = *put;
    } else if (!known) {
      co_return Changed{std::nullopt, std::nullopt, std::move(decision.verdict)};
    }

    SwapResult result = co_await store.swap(id, expected, next);
    if (auto* applied = std::get_if<swap::Applied>(&result)) {
      if (next) next->version = applied->version;
      if (!std::holds_alternative<Keep>(decision.change)) {
        observer.transitioned(known, next ? &*next : nullptr, now);
      }
      co_return Changed{std::move(known), std::move(next), std::move(decision.verdict)};
    }
    if (auto* conflict = std::get_if<swap::Conflict>(&result)) {
      known = std::move(conflict->current);
      continue;
    }
    if (auto* too_large = std::get_if<swap::TooLarge>(&result)) co_return *too_large;
    if (auto* unavailable = std::get_if<StoreUnavailable>(&result)) {
      observer.store_failed("swap", unavailable->why);
      if (!unsure) co_return std::move(*unavailable);
    } else {
      observer.store_failed("swap, fate unknown", std::get<swap::Unknown>(result).why);
      unsure = true;
    }
    if (clock.now() >= give_up) {
      co_return StoreUnavailable{"the fate of a write could not be confirmed"};
    }
    co_await clock.sleep(backoff.next());
  }
}

awaitable<Admission> Engine::Impl::admit(Ask ask) {
  const RecordId id = make_id(ask.scope, ask.key);
  event::Claim claim;
  claim.scope = std::move(ask.scope);
  claim.key = std::move(ask.key);
  claim.recipe = std::move(ask.recipe);
  claim.fingerprint = std::move(ask.fingerprint);
  claim.policy = std::move(ask.policy);
  claim.token = tokens.next();
  claim.owner = options.owner;
  claim.skew = options.skew;
  claim.trace = std::move(ask.trace);

  Entered entered(running, id, claim.token);
  Backoff backoff(options);
  const Time give_up = after(clock.now(), options.patience);
  std::optional<Record> known;  // a new key is the common case: begin with "absent"
  for (;;) {
    if (known) {
      claim.compared =
          known->recipe == claim.recipe ? claim.fingerprint : ask.fingerprint_under(known->recipe);
      claim.holder = holder_of(*known);
    }
    const Time now = clock.now();
    Decision decision = transition(known, claim, now);
    const Record* put = put_of(decision.change);
    if (!put) co_return to_admission(decision.verdict, std::move(*known), claim.policy);

    Record next = *put;
    const bool executes = std::holds_alternative<verdict::Execute>(decision.verdict);
    Version expected = known ? known->version : 0;
    bool unsure = false;
    for (;;) {
      SwapResult result = co_await store.swap(id, expected, next);
      if (auto* applied = std::get_if<swap::Applied>(&result)) {
        next.version = applied->version;
        observer.transitioned(known, &next, now);
        Admission admission = to_admission(decision.verdict, std::move(next), claim.policy);
        if (auto* execute = std::get_if<admission::Execute>(&admission)) {
          running.started(execute->claim, now);
          entered.keep();
        }
        co_return admission;
      }
      if (auto* conflict = std::get_if<swap::Conflict>(&result)) {
        known = std::move(conflict->current);
        if (!executes || !known || known->token != claim.token) break;
        // Our own claim had landed after all. Swapping it with itself proves that it is durable.
        if (known->state == State::in_progress) {
          next = *known;
          expected = known->version;
          continue;
        }
        // It was swept up while we could not see it. Nothing ran under it.
        co_await apply(id, known, event::Abandon{claim.token});
        co_return StoreUnavailable{"the claim was lost while it was being confirmed"};
      }
      if (auto* unavailable = std::get_if<StoreUnavailable>(&result)) {
        observer.store_failed("claim", unavailable->why);
        if (!unsure) co_return std::move(*unavailable);
      } else if (auto* unknown = std::get_if<swap::Unknown>(&result)) {
        observer.store_failed("claim, fate unknown", unknown->why);
        unsure = true;
      } else {
        co_return StoreUnavailable{"the record is larger than the store takes"};
      }
      if (clock.now() >= give_up) {
        if (executes) {
          entered.keep();
          auto executor = co_await asio::this_coro::executor;
          asio::co_spawn(executor, give_back(id, expected, std::move(next)), asio::detached);
        }
        co_return StoreUnavailable{"the fate of a claim could not be confirmed"};
      }
      co_await clock.sleep(backoff.next());
    }
  }
}

// A write that is still on its way could land at any time, so looking is not enough: the claim is
// written again until the store says whose the record is.
awaitable<void> Engine::Impl::give_back(RecordId id, Version expected, Record claim) {
  const Token token = claim.token;
  Backoff backoff(options);
  while (!stopped) {
    std::optional<Record> known;
    SwapResult result = co_await store.swap(id, expected, claim);
    if (auto* applied = std::get_if<swap::Applied>(&result)) {
      claim.version = applied->version;
      known = claim;
    } else if (auto* conflict = std::get_if<swap::Conflict>(&result)) {
      known = std::move(conflict->current);
      if (!known || known->token != token) break;
    }
    if (known) {
      Applied abandoned = co_await apply(id, std::move(known), event::Abandon{token});
      if (std::holds_alternative<Changed>(abandoned)) break;
    }
    co_await clock.sleep(backoff.next());
  }
  running.leave(id, token, nullptr);
}

void Engine::Impl::settle(const Claim& claim, const Outcome& outcome, std::optional<Record> record,
                          Listening listening) {
  auto settled = std::make_shared<const Settled>(Settled{outcome, std::move(record)});
  if (listening == Listening::yes) {
    running.settle(claim.record.id, claim.record.token, std::move(settled));
  } else {
    running.leave(claim.record.id, claim.record.token, std::move(settled));
  }
}

awaitable<Finished> Engine::Impl::finish(Claim claim, Outcome outcome, Listening listening) {
  Backoff backoff(options);
  const Time give_up = after(clock.now(), options.patience);
  for (;;) {
    event::Finish event{claim.record.token, outcome, claim.policy.unknown, claim.policy.on_retry};
    Applied applied = co_await apply(claim.record.id, claim.record, std::move(event));
    if (auto* changed = std::get_if<Changed>(&applied)) {
      if (std::holds_alternative<verdict::Stale>(changed->verdict)) {
        // Others wait for whoever holds the record now, not for us.
        running.leave(claim.record.id, claim.record.token, nullptr);
        co_return finish::Stale{std::move(changed->after)};
      }
      settle(claim, outcome, changed->after, listening);
      co_return finish::Recorded{std::move(changed->after)};
    }
    if (std::holds_alternative<swap::TooLarge>(applied)) {
      outcome.answer.body.clear();
      outcome.answer.body_note = BodyNote::omitted;
      continue;
    }
    if (clock.now() >= give_up) {
      const std::string why = std::get<StoreUnavailable>(applied).why;
      auto executor = co_await asio::this_coro::executor;
      asio::co_spawn(executor,
                     finish_in_background(std::move(claim), std::move(outcome), listening),
                     asio::detached);
      co_return finish::Pending{why};
    }
    co_await clock.sleep(backoff.next());
  }
}

awaitable<void> Engine::Impl::finish_in_background(Claim claim, Outcome outcome,
                                                   Listening listening) {
  Backoff backoff(options);
  while (!stopped) {
    co_await clock.sleep(backoff.next());
    event::Finish event{claim.record.token, outcome, claim.policy.unknown, claim.policy.on_retry};
    Applied applied = co_await apply(claim.record.id, claim.record, std::move(event));
    if (auto* changed = std::get_if<Changed>(&applied)) {
      settle(claim, outcome, changed->after, listening);
      co_return;
    }
    if (std::holds_alternative<swap::TooLarge>(applied)) {
      outcome.answer.body.clear();
      outcome.answer.body_note = BodyNote::omitted;
    }
  }
}

Engine::Engine(Store& store, Clock& clock, TokenSource& tokens, Observer& observer,
               EngineOptions options)
    : impl_(std::make_unique<Impl>(store, clock, tokens, observer, std::move(options))) {}

Engine::~Engine() = default;

awaitable<Admission> Engine::admit(Ask ask) {
  return impl_->admit(std::move(ask));
}

awaitable<Finished> Engine::finish(Claim claim, Outcome outcome, Listening listening) {
  return impl_->finish(std::move(claim), std::move(outcome), listening);
}

void Engine::stop_listening(const Claim& claim) {
  impl_->running.leave(claim.record.id, claim.record.token, nullptr);
}

awaitable<bool> Engine::begin_stream(const Claim& claim, int status) {
  Impl::Applied applied = co_await impl_->apply(claim.record.id, claim.record,
                                                event::Begin{claim.record.token, status});
  const auto* changed = std::get_if<Impl::Changed>(&applied);
  co_return changed&& std::holds_alternative<verdict::Done>(changed->verdict);
}

awaitable<void> Engine::abandon(Claim claim) {
  Impl::Applied applied =
      co_await impl_->apply(claim.record.id, claim.record, event::Abandon{claim.record.token});
  if (std::holds_alternative<Impl::Changed>(applied)) {
    impl_->running.leave(claim.record.id, claim.record.token, nullptr);
    co_return;
  }
  const Version expected = claim.record.version;
  co_await impl_->give_back(claim.record.id, expected, std::move(claim.record));
}

awaitable<Waited> Engine::wait(RecordId id, Duration timeout) {
  const Time deadline = after(impl_->clock.now(), timeout);
  auto initiate = [this, id, deadline](auto handler) {
    auto work = asio::make_work_guard(handler);
    auto shared = std::make_shared<decltype(handler)>(std::move(handler));
    impl_->running.wait(id, deadline, [work = std::move(work), shared](Waited waited) mutable {
      asio::post(work.get_executor(),
                 [shared, waited = std::move(waited)]() mutable { (*shared)(std::move(waited)); });
    });
  };
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>&, void(Waited)>(
      std::move(initiate), asio::use_awaitable);
}

awaitable<Resolved> Engine::resolve(RecordId id, Resolution resolution) {
  auto found = co_await impl_->store.read(id);
  if (!found) co_return std::move(found.error());
  if (!*found) co_return resolve::NotFound{};
  event::Resolve event{std::move(resolution.answer), std::move(resolution.who),
                       std::move(resolution.why),    impl_->holder_of(**found),
                       impl_->options.skew,          resolution.force};
  Impl::Applied applied = co_await impl_->apply(id, std::move(*found), std::move(event));
  if (auto* unavailable = std::get_if<StoreUnavailable>(&applied))
    co_return std::move(*unavailable);
  if (std::holds_alternative<swap::TooLarge>(applied)) {
    co_return resolve::Refused{"the answer is larger than the store takes"};
  }
  auto& changed = std::get<Impl::Changed>(applied);
  if (auto* refused = std::get_if<verdict::Refused>(&changed.verdict)) {
    co_return resolve::Refused{std::move(refused->why)};
  }
  if (!changed.after) co_return resolve::NotFound{};
  co_return resolve::Done{std::move(*changed.after)};
}

void Engine::stop() {
  impl_->stopped = true;
}

Engine::Running Engine::running() const {
  return impl_->running.summary();
}

}  // namespace semel
