// Work that continues after its call: claims that were dropped or must be given back, and outcomes
// that the store has not taken yet. The promise: nothing stays busy because nobody is left to end
// it.
//
// If the process dies here, the lease runs out and the key becomes unknown.
#include <boost/asio/co_spawn.hpp>

#include "engine/confirm.h"
#include "engine/engine_impl.h"
#include "engine/spawn.h"

namespace semel {
namespace asio = boost::asio;
using asio::awaitable;

asio::any_io_executor Engine::Impl::executor() {
  if (given_executor) return given_executor;
  const std::lock_guard lock(executor_mutex);
  if (!own_thread) own_thread = std::make_unique<OwnThread>();
  return own_thread->io.get_executor();
}

void Engine::Impl::pursue(std::string_view task, awaitable<void> work) {
  if (stopped) return;
  // Keeps the parts that the work refers to alive, whoever is unwound last.
  auto run = [](std::shared_ptr<Impl>, awaitable<void> pursued) -> awaitable<void> {
    co_await std::move(pursued);
  };
  asio::co_spawn(executor(), run(shared_from_this(), std::move(work)), engine::OrReport{task});
}

// A write that is still under way could land at any time, so reading is not enough: the claim is
// written again until the store says whose the record is.
awaitable<void> Engine::Impl::give_back(RecordPtr claim) {
  const RecordId id = claim->id;
  const Token token = claim->token;
  // If something is thrown here, nothing runs, and the lease decides.
  const Entered leaves = Entered::already(shared_running(), id, token);
  engine::Confirm confirm(engine::Confirm::Mark::token, std::make_shared<Record>(*claim),
                          claim->version, engine::Confirm::Before::unsure);
  base::Backoff pauses = backoff();
  RecordPtr known;
  while (!stopped && !known) {
    SwapResult result = co_await store.swap(id, confirm.expected(), confirm.next());
    const engine::Confirm::Step step = confirm.took(result);
    if (step == engine::Confirm::Step::lost) co_return;
    if (step == engine::Confirm::Step::durable) known = confirm.take_next();
    if (step == engine::Confirm::Step::ended) known = confirm.take_found();
    if (!known && step != engine::Confirm::Step::again) co_await clock.sleep(pauses.next());
  }
  core::Event abandon = core::event::Abandon{token};
  while (!stopped) {
    const Applied abandoned = co_await apply(id, known, abandon);
    if (std::holds_alternative<Changed>(abandoned)) co_return;
    co_await clock.sleep(pauses.next());
  }
}

awaitable<Finished> Engine::Impl::try_finish(const EngineClaim& claim, core::Event& event,
                                             Listening listening) {
  for (;;) {
    Applied applied = co_await apply(claim.record->id, claim.record, event);
    if (auto end = finished(claim, event, listening, std::move(applied))) co_return *std::move(end);
  }
}

awaitable<void> Engine::Impl::finish_in_background(EngineClaim claim,
                                                   std::shared_ptr<core::Event> event,
                                                   Listening listening) {
  base::Backoff pauses = backoff();
  while (!stopped) {
    co_await clock.sleep(pauses.next());
    const Finished finished = co_await try_finish(claim, *event, listening);
    if (!std::holds_alternative<finish::Pending>(finished)) co_return;
  }
}

awaitable<void> Engine::Impl::finish_dropped(EngineClaim claim,
                                             std::shared_ptr<core::Event> ending) {
  const Entered leaves = Entered::already(shared_running(), claim.record->id, claim.record->token);
  if (!ending) {
    const Record& record = *claim.record;
    Outcome outcome{OutcomeKind::unknown, {}, "its claim was dropped"};
    const KeptWork kept = record.request.empty() ? kept::StaysUnknown{} : look_at_kept(record);
    if (const auto* again = std::get_if<kept::TriedAgain>(&kept)) {
      outcome.queue_again_after = again->after;
    }
    // There is no answer that could count as final.
    ending = std::make_shared<core::Event>(core::event::Finish{
        record.token, std::move(outcome), UnknownPolicy::hold, claim.operation.on_retry});
  }
  const Finished finished = co_await try_finish(claim, *ending, Listening::no);
  if (!std::holds_alternative<finish::Pending>(finished)) co_return;
  co_await finish_in_background(std::move(claim), std::move(ending), Listening::no);
}

void Engine::Impl::never_ran(const Record& written, Version replaces) noexcept {
  if (stopped) return;
  try {
    auto claim = std::make_shared<Record>(written);
    claim->version = replaces;
    if (claim->state == RecordState::queued) {
      pursue(kWithdrawing, withdraw(std::move(claim)));
    } else {
      pursue(kGivingBack, give_back(std::move(claim)));
    }
  } catch (...) {
    engine::detail::task_failed(kGivingBack, std::current_exception());
    running.leave(written.id, written.token);
  }
}

void Engine::Impl::dropped(RecordPtr record, Operation operation, ClaimHold::Stage stage,
                           std::shared_ptr<core::Event> ending) noexcept {
  const RecordId id = record->id;
  const Token token = record->token;
  try {
    if (stopped || stage == ClaimHold::Stage::listening) {
      running.leave(id, token);
      return;
    }
    if (stage == ClaimHold::Stage::abandoned) {
      pursue(kGivingBack, give_back(std::move(record)));
      return;
    }
    EngineClaim claim{std::move(record), std::move(operation)};
    claim.hold = std::make_shared<ClaimHold>(std::weak_ptr<Impl>(), claim.record, claim.operation);
    pursue(kFinishing, finish_dropped(std::move(claim), std::move(ending)));
  } catch (...) {
    engine::detail::task_failed(kFinishing, std::current_exception());
    running.leave(id, token);
  }
}

ClaimHold::~ClaimHold() {
  if (stage_ == Stage::ended) return;
  if (const auto engine = engine_.lock()) engine->dropped(record_, operation_, stage_, ending_);
}

}  // namespace semel
