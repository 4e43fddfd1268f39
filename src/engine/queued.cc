// Work that was accepted and has not begun. The promise: it is started once, under a claim like any
// other, and accepted work is never dropped: it stays in the store until it is started or an
// operator has decided about it.
#include "engine/confirm.h"
#include "engine/engine_impl.h"

namespace semel {
namespace asio = boost::asio;
using asio::awaitable;

void Engine::Impl::hand_out(const Record& queued) {
  if (!take_queued || !running.enter_once(queued.id, queued.token)) return;
  take_queued({queued.id, queued.token, queued.tenant, queued.operation});
}

awaitable<Started> Engine::Impl::start(RecordPtr queued, Operation operation) {
  const RecordId id = queued->id;
  const Token queued_token = queued->token;
  const Entered taken_up = Entered::already(shared_running(), id, queued_token);  // wakes waiters
  if (store.doubts().claims) co_return doubtful();
  const Token token = tokens.next_for(id);
  Entered entered(shared_running(), id, token);
  core::Event event = core::event::Start{queued_token, token, options.owner, operation};
  // Nothing is executed under a claim that is not known to be ours. The claim is pursued, and the
  // work queued again.
  const auto queue_again = [&] {
    if (stopped) return;
    core::Decision decision = core::transition(queued.get(), event, clock.now());
    auto* put = std::get_if<core::Put>(&decision.change);
    if (!put) return;
    entered.keep();
    never_ran(*put->next, queued->version);
  };
  OnDrop unheard(queue_again);
  unheard.arm();
  Applied applied = co_await apply(id, queued, event);
  unheard.disarm();

  Started started = start::Gone{};
  if (auto* unavailable = std::get_if<Unavailable>(&applied)) {
    if (unavailable->unsure) queue_again();
    started = StoreUnavailable{std::move(unavailable->why)};
  } else if (auto* changed = std::get_if<Changed>(&applied)) {
    const bool ours = changed->after && changed->after->token == token;
    const bool done = std::holds_alternative<core::verdict::Done>(changed->verdict);
    if (ours && done && clock.now() < changed->after->lease_until) {
      EngineClaim claim{std::move(changed->after), std::move(operation)};
      claim.hold = std::make_shared<ClaimHold>(weak_from_this(), claim.record, claim.operation);
      running.started(claim, clock.now(), clock.steady());
      entered.keep();
      started = std::move(claim);
    } else if (ours) {
      // The claim was ours, but others may have given it up for lost by now, or already have.
      entered.keep();
      pursue(kGivingBack, give_back(std::move(changed->after)));
      started = StoreUnavailable{"the claim was written too slowly for its lease"};
    }
  } else {
    started = StoreUnavailable{"the record is larger than the store accepts"};
  }
  co_return started;
}

awaitable<void> Engine::Impl::withdraw(RecordPtr queued) {
  const RecordId id = queued->id;
  // Written in place of the queued record, so that a write that is still under way comes too late.
  auto withdrawn = std::make_shared<Record>(*queued);
  withdrawn->state = RecordState::released;
  withdrawn->request.clear();
  withdrawn->expires_at = after(clock.now(), withdrawn->ttl);
  withdrawn->tombstone_until = withdrawn->expires_at;
  withdrawn->reason = "it could not be queued";
  withdrawn->reason_code = ReasonCode::other;
  engine::Confirm confirm(engine::Confirm::Mark::content, std::move(withdrawn), queued->version,
                          engine::Confirm::Before::unsure);
  base::Backoff pauses = backoff();
  while (!stopped) {
    SwapResult result = co_await store.swap(id, confirm.expected(), confirm.next());
    const engine::Confirm::Step step = confirm.took(result);
    if (step == engine::Confirm::Step::durable) co_return;
    if (step == engine::Confirm::Step::lost) {
      const auto found = confirm.take_found();
      // The record had landed, and somebody may have been told: it counts as accepted.
      const bool ours = found && found->token == queued->token;
      if (ours && found->state == RecordState::queued) hand_out(*found);
      co_return;
    }
    if (step != engine::Confirm::Step::again) co_await clock.sleep(pauses.next());
  }
}

}  // namespace semel
