#include "core/transition.h"

#include <algorithm>
#include <utility>

#include "core/no_answer.h"
#include "core/record_changes.h"
#include "semel/driver/outcome_rules.h"

namespace semel::core {
namespace {

// Returns true if the owner is or may be alive: then nobody else may touch the claim.
bool may_be_running(const Record& record, Holder holder, Duration skew, Time now) {
  if (holder == Holder::running_here) return true;
  if (holder == Holder::gone) return false;
  return now <= after(record.lease_until, skew);
}

bool holds_claim(const Record& record) {
  return record.state == RecordState::in_progress || record.state == RecordState::unknown;
}

// Returns true if an attempt was made and another is queued: an answer to the first may still come.
bool waits_for_next_try(const Record& record) {
  return record.state == RecordState::queued && record.attempt > 0 &&
         record.reason_code != ReasonCode::none;
}

std::shared_ptr<Record> claimed(const event::Claim& claim, Time now) {
  auto record = std::make_shared<Record>();
  record->id = claim.id;
  record->recipe = claim.recipe;
  record->fingerprint = claim.fingerprint;
  record->created_at = now;
  record->tenant = claim.scope.tenant;
  record->operation = claim.scope.operation;
  record->key = claim.shown_key;
  record->trace = claim.trace;
  return record;
}

// Writes the fields that every claim sets, whether it is executed now or queued first.
void hold(Record& record, const Token& token, const Owner& owner, const Operation& operation,
          Time now) {
  record.token = token;
  record.owner = owner;
  record.lease_until = after(now, operation.lease);
  record.expires_at = kNever;
  record.tombstone_until = kNever;
  record.hold_until = kNever;
  record.ttl = operation.ttl;
  record.tombstone = operation.tombstone;
  record.hold_for = operation.hold_for;
  record.ttl_from_creation = operation.ttl_from_creation;
  record.response_version = operation.response_version;
  record.result = RecordResult::none;
  record.answer = {};
  record.status_begun = 0;
  set_reason(record, nothing_executed());
}

// Puts the claim into `record`, which is new or may run again.
Decision take(std::shared_ptr<Record> record, const event::Claim& claim, Time now,
              std::string note) {
  hold(*record, claim.token, claim.owner, claim.operation, now);
  if (record->handle == Token{}) record->handle = claim.handle;
  record->request = claim.request;
  record->description = claim.description;
  if (!claim.request.empty()) {
    record->state = RecordState::queued;
    remember(*record, now, "queued");
    return {Put{std::move(record)}, verdict::Queued{}};
  }
  record->state = RecordState::in_progress;
  record->attempt += 1;
  remember(*record, now, std::move(note));
  return {Put{std::move(record)}, verdict::Execute{}};
}

Decision claim_unknown(const Record& record, const event::Claim& claim, Time now) {
  switch (claim.operation.unknown) {
    case UnknownPolicy::retry:
      return take(copy_of(record), claim, now,
                  "claimed again: the outcome of the last attempt is unknown");
    case UnknownPolicy::fail: {
      auto next = copy_of(record);
      become_completed(*next, now, answer_for_no_answer(), {"unknown outcome taken as final"},
                       claim.created_lag);
      return {Put{std::move(next)}, verdict::Replay{}};
    }
    case UnknownPolicy::hold:
    case UnknownPolicy::probe:
      break;
  }
  if (record.state == RecordState::unknown) return {Keep{}, verdict::OutcomeUnknown{}};
  auto next = copy_of(record);
  become_unknown(*next, now, {"its owner is gone"});
  return {Put{std::move(next)}, verdict::OutcomeUnknown{}};
}

// Decides about a claim under the token that the record already has: its client chose the token and
// repeats a claim whose reply it has not seen. While that claim lives, the reply is given again. If
// it has ended, its token must not get a second life, or what was sent late under the first would
// count for the second. nullopt: decide as about any other claim.
std::optional<Decision> claim_repeated(const Record& record, const event::Claim& claim, Time now) {
  const bool runs = record.state == RecordState::in_progress;
  if (runs && record.owner.node == claim.owner.node && now < record.lease_until) {
    // Written again, unchanged: the record that was seen may not be durable yet.
    return Decision{Put{copy_of(record)}, verdict::Execute{}};
  }
  if (runs && may_be_running(record, claim.holder, claim.skew, now)) return std::nullopt;
  const bool is_lost = runs || record.state == RecordState::unknown;
  const bool runs_again = is_lost && claim.operation.unknown == UnknownPolicy::retry;
  if (!runs_again && record.state != RecordState::released) return std::nullopt;
  return Decision{Keep{}, verdict::TokenUsed{}};
}

bool has_expired(const Record& record, Time now) {
  return (record.state == RecordState::completed || record.state == RecordState::released) &&
         record.expires_at <= now;
}

// Returns true if the outcome is already in the record: it was written and the reply was lost.
bool says_so(const Record& record, const event::Finish& finish) {
  if (finish.outcome.kind == OutcomeKind::retry && record.state == RecordState::released)
    return true;
  if (finish.outcome.kind != OutcomeKind::final && waits_for_next_try(record)) return true;
  return record.state == RecordState::completed && record.answer == finish.outcome.answer;
}

Decision on(const Record* found, const event::Claim& claim, Time now) {
  if (!found) return take(claimed(claim, now), claim, now, "claimed");
  const Record& record = *found;
  const Time aged = now - claim.lag;
  if (record.state == RecordState::tombstone || has_expired(record, aged)) {
    if (aged < record.tombstone_until) return {Keep{}, verdict::Expired{}};
    return take(claimed(claim, now), claim, now, "claimed after expiry");
  }
  // The hold has passed. The sweeper is about to make the record a tombstone; no claim may come in
  // between.
  if (record.state == RecordState::unknown && record.hold_until <= aged) {
    return {Keep{}, verdict::Expired{}};
  }
  if (claim.compared.digest != record.fingerprint.digest) {
    return {Keep{},
            verdict::Mismatch{differing_parts(record.recipe, record.fingerprint, claim.compared)}};
  }
  if (is_held_by_client(claim.owner) && record.token == claim.token) {
    if (auto decided = claim_repeated(record, claim, now)) return *std::move(decided);
  }
  switch (record.state) {
    case RecordState::released:
      return take(copy_of(record), claim, now, "claimed again after release");
    case RecordState::queued:
      return {Keep{}, verdict::Busy{}};
    case RecordState::in_progress:
      if (may_be_running(record, claim.holder, claim.skew, now)) return {Keep{}, verdict::Busy{}};
      return claim_unknown(record, claim, now);
    case RecordState::unknown:
      return claim_unknown(record, claim, now);
    case RecordState::completed:
      if (is_replay(record, claim.compared, claim.operation, aged)) {
        return {Keep{}, verdict::Replay{}};
      }
      if (claim.operation.on_version_change == OnVersionChange::gone) {
        return {Keep{}, verdict::VersionChanged{}};
      }
      return take(claimed(claim, now), claim, now, "claimed as new: response_version changed");
    case RecordState::tombstone:
      break;
  }
  return {Keep{}, verdict::Expired{}};
}

Decision on(const Record* found, const event::Start& start, Time now) {
  if (!found) return {Keep{}, verdict::Stale{}};
  if (found->state == RecordState::in_progress && found->token == start.token) {
    return {Keep{}, verdict::Done{}};  // already written, and the reply was lost
  }
  if (found->state != RecordState::queued || found->token != start.queued) {
    return {Keep{}, verdict::Stale{}};
  }
  auto next = copy_of(*found);
  hold(*next, start.token, start.owner, start.operation, now);
  next->state = RecordState::in_progress;
  next->attempt += 1;
  remember(*next, now, "taken from the queue");
  return {Put{std::move(next)}, verdict::Done{}};
}

Decision on(const Record* found, const event::Renew& renew, Time now) {
  if (!found || found->token != renew.token || found->state != RecordState::in_progress) {
    return {Keep{}, verdict::Stale{}};
  }
  auto next = copy_of(*found);
  next->lease_until = after(now, renew.lease);
  return {Put{std::move(next)}, verdict::Done{}};
}

Decision on(const Record* found, const event::Begin& begin, Time now) {
  if (!found || found->token != begin.token || found->state != RecordState::in_progress) {
    return {Keep{}, verdict::Stale{}};
  }
  auto next = copy_of(*found);
  next->status_begun = begin.status;
  remember(*next, now, "answer began");
  return {Put{std::move(next)}, verdict::Done{}};
}

Decision on(const Record* found, const event::Finish& finish, Time now) {
  if (!found && finish.outcome.kind == OutcomeKind::retry && finish.on_retry == OnRetry::forget) {
    return {Keep{}, verdict::Done{}};  // forgotten already
  }
  if (!found || found->token != finish.token) return {Keep{}, verdict::Stale{}};
  // The claim has ended: with this outcome, or with another one that was recorded first. A late
  // final answer makes the next try unnecessary.
  const bool is_late = finish.outcome.kind == OutcomeKind::final && waits_for_next_try(*found);
  if (!holds_claim(*found) && !is_late) {
    if (says_so(*found, finish)) return {Keep{}, verdict::Done{}};
    return {Keep{}, verdict::Stale{}};
  }

  auto next = copy_of(*found);
  const Outcome& outcome = finish.outcome;
  if (outcome.queue_again_after && !next->request.empty() && outcome.kind != OutcomeKind::final) {
    become_queued_again(*next, now, after(now, *outcome.queue_again_after), reason_of(outcome),
                        "queued again: " + outcome.reason);
    return {Put{std::move(next)}, verdict::Done{}};
  }
  next->only_auth_failures = outcome.kind == OutcomeKind::retry &&
                             is_auth_failure(outcome.answer.status) &&
                             (next->attempt == 1 || next->only_auth_failures);
  switch (outcome.kind) {
    case OutcomeKind::final:
      next->resource_type = outcome.resource_type;
      next->resource_id = outcome.resource_id;
      become_completed(*next, now, outcome.answer, reason_of(outcome), finish.created_lag);
      break;
    case OutcomeKind::retry:
      if (finish.on_retry == OnRetry::forget) return {Erase{}, verdict::Done{}};
      become_released(*next, now, reason_of(outcome));
      break;
    case OutcomeKind::unknown:
      if (finish.unknown == UnknownPolicy::fail) {
        become_completed(*next, now, outcome.answer, reason_of(outcome), finish.created_lag);
        break;
      }
      if (next->state == RecordState::unknown) return {Keep{}, verdict::Done{}};
      become_unknown(*next, now, reason_of(outcome));
      break;
  }
  return {Put{std::move(next)}, verdict::Done{}};
}

Decision on(const Record* found, const event::Abandon& abandon, Time now) {
  if (!found || found->token != abandon.token) return {Keep{}, verdict::Stale{}};
  if (found->state == RecordState::queued) return {Keep{}, verdict::Done{}};  // queued already
  if (!holds_claim(*found)) return {Keep{}, verdict::Stale{}};
  auto next = copy_of(*found);
  if (next->request.empty()) {
    become_released(*next, now, {"claim given back before anything was executed"});
  } else {
    become_queued_again(*next, now, now, nothing_executed(), "queued again: nothing was executed");
  }
  return {Put{std::move(next)}, verdict::Done{}};
}

// Puts off the times at which a record without a claim is due.
void put_off(Record& record, Duration by, Time now) {
  for (Time* due : {&record.expires_at, &record.tombstone_until, &record.hold_until}) {
    *due = after(*due, by);
  }
  remember(record, now, "put off: the clock was set forward");
}

Decision on(const Record* found, const event::Sweep& sweep, Time now) {
  if (!found) return {Keep{}, verdict::Nothing{}};
  const bool abandoned = found->state == RecordState::in_progress && sweep.holder == Holder::gone;
  if (due_at(*found) > now && !abandoned) return {Keep{}, verdict::Nothing{}};
  auto next = copy_of(*found);
  const bool is_work =
      next->state == RecordState::queued || next->state == RecordState::in_progress;
  if (sweep.left_to_others_for && is_work && !next->request.empty()) {
    const bool is_left = now < after(next->lease_until, *sweep.left_to_others_for);
    if (is_left || sweep.holder == Holder::running_here) return {Keep{}, verdict::Nothing{}};
    next->lease_until = after(now, 2 * *sweep.left_to_others_for);
    return {Put{std::move(next)}, verdict::Done{}};
  }
  if (!is_work && due_at(*found) > now - sweep.lag) {
    put_off(*next, sweep.lag, now);
    return {Put{std::move(next)}, verdict::Done{}};
  }
  switch (next->state) {
    case RecordState::queued:
      // Never removed: somebody was told that it will be done. It is due again later.
      next->lease_until = after(now, sweep.queued_lease);
      return {Put{std::move(next)}, verdict::Done{}};
    case RecordState::in_progress:
      if (may_be_running(*next, sweep.holder, sweep.skew, now)) return {Keep{}, verdict::Nothing{}};
      if (sweep.queue_again_after && !next->request.empty()) {
        become_queued_again(*next, now, after(now, *sweep.queue_again_after), {"its owner is gone"},
                            "queued again: its owner is gone");
      } else {
        become_unknown(*next, now, {"its owner is gone"});
      }
      return {Put{std::move(next)}, verdict::Done{}};
    case RecordState::unknown:
      next->tombstone_until = kNever;  // never executable again
      break;
    case RecordState::completed:
    case RecordState::released:
      // The tombstone gets a new stamp, which no longer shows that the clock was set, so the lag is
      // added now.
      next->tombstone_until = after(next->tombstone_until, sweep.lag);
      if (next->tombstone_until <= now) return {Erase{}, verdict::Done{}};
      break;
    case RecordState::tombstone:
      return {Erase{}, verdict::Done{}};
  }
  become_tombstone(*next, now, "expired");
  return {Put{std::move(next)}, verdict::Done{}};
}

Decision refused(std::string why) {
  return {Keep{}, verdict::Refused{std::move(why)}};
}

// Returns why nothing may be decided about this claim, or nullopt.
std::optional<Decision> refused_claim(const Record& found, const event::Resolve& resolve,
                                      Time now) {
  if (found.token != resolve.token) {
    return refused("The record was claimed again in the meantime. Look at it again.");
  }
  // A claim that comes now is told that the key has expired; a release would let it run.
  if (found.state == RecordState::unknown && found.hold_until <= now - resolve.lag) {
    return refused("Its hold_for has passed; it can never be executed again.");
  }
  if (resolve.why.empty()) return refused("A reason is required.");
  return std::nullopt;
}

constexpr const char* kMayStillRun =
    "The execution may still run. Wait for it, or decide with \"force\": true (semel keys: "
    "--force).";

// Caches may serve the answer for a while. The key must not be executable during that time, or one
// caller could get the new answer and the next one the old.
Decision forget(const Record& found, const event::Resolve& resolve, Time now) {
  if (found.state != RecordState::completed && found.state != RecordState::released) {
    return refused("The record is " + std::string(to_string(found.state)) +
                   "; only a completed or released record can be forgotten.");
  }
  if (auto no = refused_claim(found, resolve, now)) return *std::move(no);
  auto next = copy_of(found);
  next->tombstone_until = after(now, std::max(found.tombstone, *resolve.forget_for));
  set_reason(*next, nothing_executed());
  become_tombstone(*next, now, "forgotten by " + resolve.who + ": " + resolve.why);
  return {Put{std::move(next)}, verdict::Done{}};
}

// A record that has expired stays so: a caller may have been told. None is made to expire sooner:
// caches keep the answer for as long as they were told, which forget() sees to.
Decision extend(const Record& found, const event::Resolve& resolve, Time now) {
  if (found.state != RecordState::completed && found.state != RecordState::released) {
    return refused("The record is " + std::string(to_string(found.state)) +
                   "; only a completed or released record can be kept for longer.");
  }
  if (has_expired(found, now - resolve.lag)) return refused("The record has expired.");
  if (auto no = refused_claim(found, resolve, now)) return *std::move(no);
  const Time until = after(now, *resolve.extend_for);
  if (until < found.expires_at) {
    return refused("The record already lives longer than that. To end its life, forget it.");
  }
  auto next = copy_of(found);
  next->expires_at = until;
  next->tombstone_until = after(next->expires_at, found.tombstone);
  remember(*next, now, "extended by " + resolve.who + ": " + resolve.why);
  return {Put{std::move(next)}, verdict::Done{}};
}

// Queued work has not begun, so that nobody's execution is touched, whoever waits to start it.
Decision decide_work(const Record& found, const event::Resolve& resolve, Time now) {
  const bool is_queued = found.state == RecordState::queued;
  if (found.request.empty() || (!is_queued && found.state != RecordState::unknown)) {
    return refused("The record is " + std::string(to_string(found.state)) +
                   "; only work that is queued, or is no longer tried, can be retried or dropped.");
  }
  if (!is_queued && resolve.holder == Holder::running_here) {
    return refused("Its last try may still run. Wait until it has ended.");
  }
  if (auto no = refused_claim(found, resolve, now)) return *std::move(no);
  auto next = copy_of(found);
  const bool again = *resolve.work == WorkDecision::retry;
  const std::string note =
      (again ? "retried by " : "dropped by ") + resolve.who + ": " + resolve.why;
  if (again && is_queued) {
    next->lease_until = now;
    remember(*next, now, note);
    return {Put{std::move(next)}, verdict::Done{}};
  }
  next->only_auth_failures = false;
  next->token = {};  // makes everything that the old claim still sends stale
  if (again) {
    become_queued_again(*next, now, now, nothing_executed(), note);
  } else {
    become_released(*next, now, {note, ReasonCode::operator_decision});
  }
  return {Put{std::move(next)}, verdict::Done{}};
}

Decision on(const Record* found, const event::Resolve& resolve, Time now) {
  if (!found) return {Keep{}, verdict::Stale{}};
  if (resolve.forget_for) return forget(*found, resolve, now);
  if (resolve.extend_for) return extend(*found, resolve, now);
  if (resolve.work) return decide_work(*found, resolve, now);
  if (!holds_claim(*found) && found->state != RecordState::queued) {
    return refused("The record is " + std::string(to_string(found->state)) +
                   ", not unknown; there is nothing to resolve.");
  }
  const bool running = resolve.holder == Holder::running_here ||
                       (found->state == RecordState::in_progress &&
                        may_be_running(*found, resolve.holder, resolve.skew, now));
  if (found->token == resolve.token && running && !resolve.force) return refused(kMayStillRun);
  if (auto no = refused_claim(*found, resolve, now)) return *std::move(no);

  auto next = copy_of(*found);
  next->only_auth_failures = false;
  // Makes everything that the old claim still sends stale.
  next->token = {};
  const std::string_view how = resolve.answer ? "completed by " : "released by ";
  const std::string note = std::string(how) + resolve.who +
                           (running ? ", although it may still run: " : ": ") + resolve.why;
  if (resolve.answer) {
    become_completed(*next, now, *resolve.answer, {note, ReasonCode::operator_decision},
                     resolve.created_lag);
  } else if (next->state != RecordState::queued && !next->request.empty()) {
    // Queued again, because nobody else would send the request again.
    become_queued_again(*next, now, now, nothing_executed(), note);
  } else {
    become_released(*next, now, {note, ReasonCode::operator_decision});
  }
  return {Put{std::move(next)}, verdict::Done{}};
}

}  // namespace

bool is_replay(const Record& record, const Fingerprint& compared, const Operation& operation,
               Time now) {
  return record.state == RecordState::completed && !has_expired(record, now) &&
         compared.digest == record.fingerprint.digest &&
         record.response_version == operation.response_version;
}

Decision transition(const Record* record, const event::Claim& claim, Time now) {
  return on(record, claim, now);
}

Decision transition(const Record* record, const Event& event, Time now) {
  return std::visit([&](const auto& happened) { return on(record, happened, now); }, event);
}

}  // namespace semel::core
