// The promise: nothing is executed unless its claim is durable, nothing is reported as done unless
// its outcome is durable, and a write of unknown fate counts as neither.
//
// If finish() never lands, the key becomes unknown when its lease runs out. It is never silently
// run again.
#include "semel/driver/engine.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "engine/applying.h"
#include "engine/engine_impl.h"

namespace semel {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

// Used if the store has no clock of its own.
constexpr Duration kClockSkew = std::chrono::seconds(1);

// Returns true if the time for which the record is kept has passed, by the clock as it is set now.
bool is_over(const Record& record, Time now) {
  switch (record.state) {
    case RecordState::completed:
    case RecordState::released:
      return record.expires_at <= now;
    case RecordState::tombstone:
      return record.tombstone_until <= now;
    case RecordState::unknown:
      return record.hold_until <= now;
    case RecordState::queued:
    case RecordState::in_progress:
      break;
  }
  return false;
}

// Returns false if nothing is left to drop.
bool make_smaller(Answer& answer) {
  if (answer.body_note == BodyNote::kept && !answer.body.empty()) {
    answer.body.clear();
    answer.body_note = BodyNote::omitted;
    return true;
  }
  if (answer.headers.empty()) return false;
  answer.headers.clear();
  return true;
}

}  // namespace

core::Holder Engine::Impl::holder_of(const Record& record) const {
  if (running.has(record.id, record.token)) return core::Holder::running_here;
  // Its executor is not a process of Semel: it outlives this one, and only its lease speaks for it.
  if (is_held_by_client(record.owner)) return core::Holder::unsure;
  // Nobody else has the store open, so whatever does not run in this process does not run.
  if (exclusive) return core::Holder::gone;
  return core::Holder::unsure;
}

void Engine::Impl::look_at_holder(core::Event& event, const Record* known, Time now) {
  if (!known) return;
  const auto look = [&](auto& happened) {
    if constexpr (requires { happened.holder; }) happened.holder = holder_of(*known);
    if constexpr (requires { happened.lag; }) happened.lag = lag_of(*known, now);
    if constexpr (requires { happened.created_lag; }) happened.created_lag = created_lag_of(*known);
  };
  std::visit(look, event);
}

StoreUnavailable Engine::Impl::doubtful() const {
  return {store.trouble().value_or("the store is not ready for new work yet")};
}

void Engine::Impl::look_at_clocks() {
  const auto step =
      steps.look([this] { return clock.now(); }, [this] { return clock.since_boot(); });
  if (step) observer.clock_stepped(*step);
}

Duration Engine::Impl::lag_of(const Record& record, Time now) {
  if (!is_over(record, now)) return Duration{0};
  look_at_clocks();
  return steps.lag_of(record.updated_at);
}

Duration Engine::Impl::created_lag_of(const Record& record) {
  if (!record.ttl_from_creation) return Duration{0};
  look_at_clocks();
  return steps.lag_of(record.created_at);
}

Duration Engine::Impl::skew() const {
  if (options.skew) return *options.skew;
  return exclusive || store.now() ? Duration{0} : kClockSkew;
}

void Engine::Impl::report(std::string_view write, const SwapResult& result) {
  if (const auto* unavailable = std::get_if<StoreUnavailable>(&result)) {
    observer.store_failed(write, unavailable->why);
  } else if (const auto* unknown = std::get_if<swap::Unknown>(&result)) {
    observer.store_failed(std::string(write) + ", fate unknown", unknown->why);
  }
}

awaitable<Engine::Impl::Applied> Engine::Impl::apply(RecordId id, RecordPtr known,
                                                     core::Event& event) {
  Applying applying(*this, std::move(known), event);
  while (!applying.is_over()) {
    applying.took(co_await store.swap(id, applying.expected(), applying.next()));
    if (const auto pause = applying.pause()) co_await clock.sleep(*pause);
  }
  co_return applying.take_result();
}

void Engine::Impl::settle(const EngineClaim& claim, const Outcome& outcome, const RecordPtr& record,
                          Listening listening) {
  const auto settled = [&] { return std::make_shared<const Settled>(Settled{outcome, record}); };
  if (listening == Listening::yes) {
    running.settle(claim.record->id, claim.record->token, settled);
  } else {
    running.leave(claim.record->id, claim.record->token, settled);
  }
}

std::optional<Finished> Engine::Impl::finished(const EngineClaim& claim, core::Event& event,
                                               Listening listening, Applied applied) {
  const Record& record = *claim.record;
  Outcome& outcome = std::get<core::event::Finish>(event).outcome;
  if (auto* unavailable = std::get_if<Unavailable>(&applied)) {
    return finish::Pending{std::move(unavailable->why)};
  }
  if (std::holds_alternative<swap::TooLarge>(applied)) {
    if (make_smaller(outcome.answer)) return std::nullopt;
    return finish::Pending{"the record is larger than the store accepts"};
  }
  auto& changed = std::get<Changed>(applied);
  if (std::holds_alternative<core::verdict::Stale>(changed.verdict)) {
    claim.hold->ended();
    running.leave(record.id, record.token);
    // Meanwhile the key may have been claimed again by another request, whose answer is not for
    // this one.
    const bool same = changed.after && changed.after->fingerprint == record.fingerprint;
    return finish::Stale{same ? std::move(changed.after) : nullptr};
  }
  if (listening == Listening::yes) {
    claim.hold->listens(event);
  } else {
    claim.hold->ended();
  }
  settle(claim, outcome, changed.after, listening);
  return finish::Recorded{std::move(changed.after)};
}

// Drives the writes itself, so that a completion costs one coroutine frame.
awaitable<Finished> Engine::Impl::finish(EngineClaim claim, Outcome outcome, Listening listening) {
  auto event = std::make_shared<core::Event>(core::event::Finish{
      claim.record->token, std::move(outcome), claim.operation.unknown, claim.operation.on_retry});
  if (!claim.hold) {
    claim.hold = std::make_shared<ClaimHold>(std::weak_ptr<Impl>(), claim.record, claim.operation);
  }
  claim.hold->ends(event);
  const RecordId id = claim.record->id;
  base::Backoff pauses = backoff();
  const SteadyTime give_up = after(clock.steady(), options.patience);
  for (;;) {
    Applying applying(*this, claim.record, *event);
    while (!applying.is_over()) {
      applying.took(co_await store.swap(id, applying.expected(), applying.next()));
      if (const auto pause = applying.pause()) co_await clock.sleep(*pause);
    }
    auto end = finished(claim, *event, listening, applying.take_result());
    if (!end) continue;
    if (!std::holds_alternative<finish::Pending>(*end)) co_return *std::move(end);
    if (clock.steady() >= give_up) {
      pursue(kFinishing, finish_in_background(std::move(claim), std::move(event), listening));
      co_return *std::move(end);
    }
    co_await clock.sleep(pauses.next());
  }
}

awaitable<void> Engine::Impl::abandon(EngineClaim claim) {
  if (claim.hold) claim.hold->abandoned();
  core::Event abandon = core::event::Abandon{claim.record->token};
  Applied applied = co_await apply(claim.record->id, claim.record, abandon);
  if (claim.hold) claim.hold->ended();
  if (std::holds_alternative<Changed>(applied)) {
    running.leave(claim.record->id, claim.record->token);
    co_return;
  }
  pursue(kGivingBack, give_back(std::move(claim.record)));
}

Engine::Engine(Store& store, Clock& clock, TokenSource& tokens, Observer& observer,
               EngineOptions options)
    : impl_(std::make_shared<Impl>(store, clock, tokens, observer, std::move(options))) {
  impl_->look_at_clocks();
}

Engine::~Engine() {
  impl_->stopped = true;
  {
    const std::lock_guard lock(impl_->executor_mutex);
    if (!impl_->own_thread) return;
  }
  impl_->own_thread->work.reset();
  impl_->own_thread->thread.join();
  // Destroys the work that was too late to run, which refers to the engine's parts.
  impl_->own_thread.reset();
}

void Engine::run_on(asio::any_io_executor executor) {
  impl_->given_executor = std::move(executor);
}

Clock& Engine::clock() {
  return impl_->clock;
}

RecordPtr Engine::recorded(const RecordId& id, const Recipe& recipe, const Fingerprint& fingerprint,
                           const Operation& operation) const {
  auto record = impl_->store.cached_completed(id);
  // Under another recipe the request would have to be fingerprinted again.
  if (!record || record->recipe != recipe) return nullptr;
  const Time now = impl_->clock.now();
  if (!core::is_replay(*record, fingerprint, operation, now - impl_->lag_of(*record, now))) {
    return nullptr;
  }
  return record;
}

awaitable<Admission> Engine::admit(Call call) {
  return impl_->admit(std::move(call));
}

awaitable<Finished> Engine::finish(EngineClaim claim, Outcome outcome, Listening listening) {
  return impl_->finish(std::move(claim), std::move(outcome), listening);
}

awaitable<Started> Engine::start(RecordPtr queued, Operation operation) {
  return impl_->start(std::move(queued), std::move(operation));
}

void Engine::put_off(const QueuedWork& work) {
  impl_->running.leave(work.id, work.token);
}

void Engine::hand_queued_to(std::function<void(QueuedWork)> taker) {
  impl_->take_queued = std::move(taker);
}

void Engine::ask_about_kept(std::function<KeptWork(const Record&)> ask) {
  impl_->ask_about_kept = std::move(ask);
}

void Engine::stop_listening(const EngineClaim& claim) {
  if (claim.hold) claim.hold->ended();
  impl_->running.leave(claim.record->id, claim.record->token);
}

awaitable<bool> Engine::begin_stream(const EngineClaim& claim, int status) {
  core::Event begin = core::event::Begin{claim.record->token, status};
  Impl::Applied applied = co_await impl_->apply(claim.record->id, claim.record, begin);
  const auto* changed = std::get_if<Impl::Changed>(&applied);
  co_return changed&& std::holds_alternative<core::verdict::Done>(changed->verdict);
}

awaitable<void> Engine::abandon(EngineClaim claim) {
  return impl_->abandon(std::move(claim));
}

awaitable<Waited> Engine::wait(RecordId id, Token token, Duration timeout) {
  const SteadyTime deadline = after(impl_->clock.steady(), timeout);
  auto initiate = [this, id, token, deadline](auto handler) {
    auto work = asio::make_work_guard(handler);
    auto shared = std::make_shared<decltype(handler)>(std::move(handler));
    auto wake = [work = std::move(work), shared](Waited waited) mutable {
      asio::post(work.get_executor(),
                 [shared, waited = std::move(waited)]() mutable { (*shared)(std::move(waited)); });
    };
    impl_->running.wait(id, token, deadline, std::move(wake));
  };
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>&, void(Waited)>(
      std::move(initiate), asio::use_awaitable);
}

awaitable<Resolved> Engine::resolve(RecordId id, Resolution resolution) {
  auto found = co_await impl_->store.read(id);
  if (!found) co_return std::move(found.error());
  if (!*found) co_return resolve::NotFound{};
  const Token token = (*found)->token;
  core::event::Resolve decided;
  decided.token = token;
  decided.answer = std::move(resolution.answer);
  // By the clock of another process the time may be over earlier.
  if (resolution.forget_for) decided.forget_for = *resolution.forget_for + impl_->skew();
  decided.extend_for = resolution.extend_for;
  decided.work = resolution.work;
  decided.who = std::move(resolution.who);
  decided.why = std::move(resolution.why);
  decided.skew = impl_->skew();
  decided.force = resolution.force;
  core::Event event = std::move(decided);
  Impl::Applied applied = co_await impl_->apply(id, *std::move(found), event);
  if (auto* unavailable = std::get_if<Impl::Unavailable>(&applied))
    co_return StoreUnavailable{std::move(unavailable->why)};
  if (std::holds_alternative<swap::TooLarge>(applied)) {
    co_return resolve::Refused{"The answer is larger than the store accepts."};
  }
  auto& changed = std::get<Impl::Changed>(applied);
  if (auto* refused = std::get_if<core::verdict::Refused>(&changed.verdict)) {
    co_return resolve::Refused{std::move(refused->why)};
  }
  if (!changed.after) co_return resolve::NotFound{};
  // Callers that wait for a claim that was ended by force find the decision in the record.
  impl_->running.settle(id, token, {});
  co_return resolve::Done{std::move(changed.after)};
}

void Engine::stop() {
  impl_->stopped = true;
  impl_->running.end_waits(kSteadyNever);
  impl_->watches.end(kSteadyNever);
}

void Engine::let_go_of_store() {
  impl_->clock.let_go();
}

Engine::Running Engine::running() const {
  return impl_->running.summary();
}

}  // namespace semel
