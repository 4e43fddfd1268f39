#include "engine/applying.h"

namespace semel {
namespace {

constexpr const char* kHeld = "the record is held by an open transaction";

// A substitute for a forgotten record: counts as absent, and is due at once.
std::shared_ptr<Record> forgotten(const Record& record, Time now) {
  auto gone = std::make_shared<Record>(record);
  gone->state = RecordState::released;
  gone->result = RecordResult::none;
  gone->answer = {};
  gone->request.clear();
  gone->status_begun = 0;
  gone->hold_until = kNever;
  gone->expires_at = gone->tombstone_until = now;
  gone->reason = "forgotten";
  gone->reason_code = ReasonCode::other;
  gone->updated_at = now;
  return gone;
}

}  // namespace

Engine::Impl::Applying::Applying(Impl& engine, RecordPtr known, core::Event& event)
    : engine_(engine),
      event_(event),
      begun_(known),
      known_(std::move(known)),
      backoff_(engine.backoff()),
      give_up_(after(engine.clock.steady(), engine.options.patience)),
      finishes_(std::holds_alternative<core::event::Finish>(event)) {
  decide();
}

void Engine::Impl::Applying::decide() {
  decided_at_ = engine_.clock.now();
  engine_.look_at_holder(event_, known_.get(), decided_at_);
  auto decided = engine_.decide(known_.get(), event_, decided_at_);
  if (!decided) {
    applied_ = Unavailable{engine_.doubtful()};
    return;
  }
  verdict_ = std::move(decided->verdict);
  auto* put = std::get_if<core::Put>(&decided->change);
  keeps_ = std::holds_alternative<core::Keep>(decided->change);
  // An event that is already in the record was written by a try whose reply was lost. The record
  // seen may not be durable yet, and only a write proves that it is.
  const bool is_done = std::holds_alternative<core::verdict::Done>(verdict_);
  const bool proves = keeps_ && is_done && (known_ || (finishes_ && begun_));
  if ((keeps_ && !proves) || (!keeps_ && !known_ && !put)) {
    applied_ = Changed{known_, known_, std::move(verdict_)};
    return;
  }
  // A removal cannot be written twice. It is proved by writing something in its place.
  removes_ = keeps_ ? !known_ : !put;
  std::shared_ptr<Record> next;
  if (proves) next = known_ ? std::make_shared<Record>(*known_) : forgotten(*begun_, decided_at_);
  if (put) next = std::move(put->next);
  confirm_ = {engine::Confirm::Mark::content, std::move(next), known_ ? known_->version : 0};
}

void Engine::Impl::Applying::took(SwapResult result) {
  using Step = engine::Confirm::Step;
  switch (confirm_.took(result)) {
    case Step::durable:
      return written(confirm_.take_next());
    case Step::gone:
      if (!finishes_) return written(nullptr);
      return confirm_.prove_removal_by(forgotten(*known_, decided_at_));
    case Step::again:
      return;
    case Step::lost:
    case Step::ended:
      known_ = confirm_.take_found();
      return decide();
    case Step::held:
      // The holder decides about the record. A sweep does not wait for it, since nobody waits for
      // the result.
      if (!std::holds_alternative<core::event::Sweep>(event_)) return wait_or_give_up();
      applied_ = Unavailable{{kHeld}};
      return;
    case Step::later:
      engine_.report("swap", result);
      return wait_or_give_up();
    case Step::unavailable:
      engine_.report("swap", result);
      applied_ = Unavailable{std::get<StoreUnavailable>(std::move(result))};
      return;
    case Step::too_large:
      applied_ = std::get<swap::TooLarge>(result);
      return;
  }
}

void Engine::Impl::Applying::written(std::shared_ptr<Record> record) {
  RecordPtr after = removes_ ? nullptr : std::move(record);
  if (!keeps_) {
    engine_.observer.transitioned(known_.get(), after.get(), decided_at_);
    engine_.wake_watchers(known_.get(), after.get());
  }
  applied_ = Changed{std::move(known_), std::move(after), std::move(verdict_)};
}

void Engine::Impl::Applying::wait_or_give_up() {
  if (engine_.clock.steady() < give_up_) {
    pause_ = backoff_.next();
  } else if (confirm_.is_unsure()) {
    applied_ = Unavailable{{"the fate of a write could not be confirmed"}, true};
  } else {
    applied_ = Unavailable{{kHeld}};
  }
}

}  // namespace semel
