// What a delivery gets. The promise: whoever is told to execute has a claim that is durable, and
// that nobody else has. If the claim's fate cannot be told in time, nobody executes under it.
#include <stdexcept>
#include <utility>

#include "engine/engine_impl.h"

namespace semel {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

struct ToAdmission {
  RecordPtr& record;
  const Policy& policy;
  Admission operator()(const verdict::Execute&) const {
    return admission::Execute{{std::move(record), policy}};
  }
  Admission operator()(const verdict::Queued&) const {
    return admission::Queued{std::move(record)};
  }
  Admission operator()(const verdict::Replay&) const {
    return admission::Replay{std::move(record)};
  }
  Admission operator()(const verdict::Mismatch& mismatch) const {
    return admission::Mismatch{mismatch.differs, std::move(record)};
  }
  Admission operator()(const verdict::Busy&) const { return admission::Busy{std::move(record)}; }
  Admission operator()(const verdict::OutcomeUnknown&) const {
    return admission::OutcomeUnknown{std::move(record)};
  }
  Admission operator()(const verdict::Expired&) const { return admission::Expired{}; }
  Admission operator()(const verdict::VersionChanged&) const {
    return admission::VersionChanged{std::move(record)};
  }
  Admission operator()(const auto&) const { throw std::logic_error("a claim has no such verdict"); }
};

Admission to_admission(const Verdict& verdict, RecordPtr record, const Policy& policy) {
  return std::visit(ToAdmission{record, policy}, verdict);
}

// What is known of a record that somebody else is about to make.
RecordPtr not_committed_yet(const event::Claim& claim, Time now) {
  auto record = std::make_shared<Record>();
  record->id = claim.id;
  record->attempt = 1;
  record->created_at = record->updated_at = now;
  record->tenant = claim.scope.tenant;
  record->operation = claim.scope.operation;
  record->key = claim.shown_key;
  return record;
}

}  // namespace

awaitable<Admission> Engine::Impl::admit(Ask ask) {
  event::Claim claim;
  claim.id = make_id(ask.scope, ask.key);
  claim.scope = std::move(ask.scope);
  claim.shown_key = ask.shown_key.empty() ? ask.key : std::move(ask.shown_key);
  claim.recipe = std::move(ask.recipe);
  claim.fingerprint = std::move(ask.fingerprint);
  claim.policy = std::move(ask.policy);
  claim.owner = options.owner;
  claim.skew = skew();
  claim.trace = std::move(ask.trace);
  if (ask.wants_handle) claim.handle = tokens.next();
  claim.request = std::move(ask.request);

  if (!ask.former_operations.empty()) {
    auto former = co_await find_former(claim, ask);
    if (!former) co_return std::move(former.error());
    if (*former) {
      event::Claim former_claim = claim;
      former_claim.id = (*former)->record->id;
      former_claim.scope.operation = std::move((*former)->operation);
      auto admission = co_await admit_known(former_claim, ask, std::move((*former)->record));
      if (admission) co_return std::move(*admission);
    }
  }
  auto admission = co_await admit_known(claim, ask, nullptr);
  co_return std::move(*admission);
}

awaitable<StoreResult<std::optional<Engine::Impl::Former>>> Engine::Impl::find_former(
    const event::Claim& claim, const Ask& ask) {
  for (const std::string& operation : ask.former_operations) {
    Scope scope = claim.scope;
    scope.operation = operation;
    auto found = co_await read_settled(make_id(scope, ask.key));
    if (!found) co_return std::unexpected(std::move(found.error()));
    if (!*found) continue;
    // What stands under the present name wins: it was written since.
    const auto present = co_await store.read(claim.id);
    if (!present) co_return std::unexpected(present.error());
    if (*present) break;
    co_return Former{operation, std::make_shared<const Record>(**std::move(found))};
  }
  co_return std::nullopt;
}

// A claim that is being written here, by a request that began under an older configuration, is not
// in the store yet, and must not be missed.
awaitable<StoreResult<std::optional<Record>>> Engine::Impl::read_settled(RecordId id) {
  Backoff backoff(options);
  const SteadyTime give_up = after(clock.steady(), options.patience);
  for (;;) {
    const bool is_entered = running.has_any(id);
    auto found = co_await store.read(id);
    if (!found || *found || !is_entered) co_return found;
    if (clock.steady() >= give_up) {
      co_return std::unexpected(StoreUnavailable{"a claim under a former name is not settled"});
    }
    co_await clock.sleep(backoff.next());
  }
}

awaitable<std::optional<Admission>> Engine::Impl::admit_known(event::Claim& claim, const Ask& ask,
                                                              RecordPtr known) {
  const RecordId& id = claim.id;
  const bool is_former = known != nullptr;
  claim.token = tokens.next_for(id);

  Entered entered(shared_running(), id, claim.token);
  Backoff backoff(options);
  const SteadyTime give_up = after(clock.steady(), options.patience);
  bool has_room = false;
  for (;;) {
    if (known) {
      if (known->recipe == claim.recipe) {
        claim.compared = claim.fingerprint;
      } else {
        claim.compared = co_await ask.fingerprint_under(known->recipe);
      }
      claim.holder = holder_of(*known);
    }
    const Time now = clock.now();
    if (known) {
      claim.lag = lag_of(*known, now);
      claim.created_lag = created_lag_of(*known);
    }
    const SteadyTime steady = clock.steady();
    auto decided = decide(known.get(), claim, now);
    if (!decided) co_return doubtful();
    Decision& decision = *decided;
    auto* put = std::get_if<Put>(&decision.change);
    if (!put) co_return to_admission(decision.verdict, std::move(known), claim.policy);

    std::shared_ptr<Record> next = std::move(put->next);
    const bool executes = std::holds_alternative<verdict::Execute>(decision.verdict);
    const bool queues = std::holds_alternative<verdict::Queued>(decision.verdict);
    // What is new begins under the present name, so that all who begin it meet there.
    const bool is_new = (executes && next->attempt == 1) || (queues && next->attempt == 0);
    if (is_former && is_new) co_return std::nullopt;
    const bool begins = executes || queues;
    const bool is_doubtful = begins && store.doubts().claims;
    if (is_doubtful && known) co_return doubtful();
    if (begins && ((ask.may_execute && !has_room) || is_doubtful)) {
      // That there is no record was only assumed so far, and a duplicate needs no room.
      if (!known) {
        auto found = co_await store.read(id);
        if (!found) co_return std::move(found.error());
        if (*found) {
          known = std::make_shared<const Record>(**std::move(found));
          continue;
        }
      }
      if (is_doubtful) co_return doubtful();
      if (!ask.may_execute(is_new)) co_return admission::NoRoom{};
      has_room = true;
    }
    Version expected = known ? known->version : 0;
    bool unsure = false;
    bool landed = false;  // it was seen in the store
    // Whoever asked is gone, and the claim may land all the same.
    OnDrop unheard([&] {
      if (stopped) return;
      if (executes) entered.keep();
      never_ran(*next, expected);
    });
    for (;;) {
      if (executes || queues) unheard.arm();
      SwapResult result = co_await store.swap(id, expected, next);
      unheard.disarm();
      if (auto* applied = std::get_if<swap::Applied>(&result)) {
        set_version(*next, applied->version);
        std::shared_ptr<ClaimHold> hold;
        if (executes) {
          hold = std::make_shared<ClaimHold>(weak_from_this(), next, claim.policy);
        }
        observer.transitioned(known.get(), next.get(), now);
        if (executes && clock.now() >= next->lease_until) {
          // It was ours, but others may have given it up for lost by now.
          hold->ended();
          entered.keep();
          pursue(kGivingBack, give_back(std::move(next)));
          co_return StoreUnavailable{"the claim was written too slowly for its lease"};
        }
        Admission admission = to_admission(decision.verdict, std::move(next), claim.policy);
        if (auto* execute = std::get_if<admission::Execute>(&admission)) {
          execute->claim.hold = std::move(hold);
          running.started(execute->claim, now, steady);
          entered.keep();
        }
        if (std::holds_alternative<admission::Queued>(admission)) entered.keep();
        co_return admission;
      }
      if (auto* conflict = std::get_if<swap::Conflict>(&result)) {
        known = conflict->current;
        const bool claims = executes || queues;
        // A decision of ours that is no claim (the unknown outcome taken as final) had landed.
        if (unsure && known && !claims && same_but_version(known.get(), next.get())) {
          next = std::make_shared<Record>(*known);
          expected = known->version;
          continue;
        }
        if (!known || known->token != claim.token || !claims) break;
        // Our own claim had landed after all. Swapping it with itself proves that it is durable.
        if (known->state == (executes ? State::in_progress : State::queued)) {
          next = std::make_shared<Record>(*known);
          expected = known->version;
          landed = true;
          continue;
        }
        if (queues) break;
        // It was swept up while we could not see it. Nothing ran under it.
        entered.keep();
        pursue(kGivingBack, give_back(std::move(known)));
        co_return StoreUnavailable{"the claim was lost while it was being confirmed"};
      }
      if (auto* unavailable = std::get_if<StoreUnavailable>(&result)) {
        observer.store_failed("claim", unavailable->why);
        if (!unsure) co_return std::move(*unavailable);
      } else if (auto* unknown = std::get_if<swap::Unknown>(&result)) {
        observer.store_failed("claim, fate unknown", unknown->why);
        unsure = true;
      } else if (auto* busy = std::get_if<swap::Busy>(&result)) {
        if (!unsure && busy->current && busy->current->version != expected) {
          known = std::move(busy->current);
          break;
        }
        if (!unsure) {
          known = std::move(busy->current);
          co_return admission::Busy{known ? std::move(known) : not_committed_yet(claim, now)};
        }
      } else {
        co_return StoreUnavailable{"the record is larger than the store takes"};
      }
      if (clock.steady() >= give_up) {
        if (executes) {
          entered.keep();
          next->version = expected;
          pursue(kGivingBack, give_back(std::move(next)));
        }
        // What was seen in the store may have been seen by others too: it stays, and is handed out
        // when it is due.
        if (queues && !landed) {
          next->version = expected;
          pursue(kWithdrawing, withdraw(std::move(next)));
        }
        co_return StoreUnavailable{"the fate of a claim could not be confirmed"};
      }
      if (unsure && (executes || queues)) unheard.arm();
      co_await clock.sleep(backoff.next());
      unheard.disarm();
    }
  }
}

}  // namespace semel
