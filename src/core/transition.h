#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "semel/driver/operation.h"
#include "semel/driver/record.h"
#include "semel/driver/scope.h"
#include "semel/outcome.h"

// The protocol: given the current record, an event and the time, decides what to write and what to
// tell the caller. Pure: no I/O, no clock, no randomness.
//
// If a rule here is wrong, a key runs twice or a client is told something that did not happen.
namespace semel::core {

// Knowledge of the engine about the holder of the claim that is not in the record.
enum class Holder {
  unsure,        // the lease decides
  running_here,  // the execution runs in this process: it is alive, whatever the clock says
  gone,          // the claim belongs to a run that has ended
};

namespace event {

struct Claim {
  RecordId id;  // made from the scope and the key
  Scope scope;
  std::string shown_key;    // the form of the key that the record keeps for people
  Recipe recipe;            // for a new record
  Fingerprint fingerprint;  // under `recipe`
  Fingerprint compared;     // under the recipe kept in the record; unused if there is no record
  Operation operation;
  Token token;
  Owner owner;
  Holder holder = Holder::unsure;
  Duration skew{0};  // how much longer than its lease a foreign claim is assumed to be alive
  std::string trace;
  Token handle;             // for a record that has none; all zero: it gets none
  std::string request;      // not empty: the request is queued with the claim, to be started later
  Description description;  // of this request, for people
  Duration lag{0};          // by how much the clock was set forward since the record was stamped
  Duration created_lag{0};  // as lag, since its creation; only if its ttl counts from then
};

// Takes up queued work: it is executed from now on, as the next attempt.
struct Start {
  Token queued;  // the token it was queued under; a record with another token is not touched
  Token token;
  Owner owner;
  Operation operation;
};

struct Renew {
  Token token;
  Duration lease{};  // counted from the moment of the write
};

// A streaming answer begins: its status is written before the first byte is sent.
struct Begin {
  Token token;
  int status = 0;
};

struct Finish {
  Token token;
  Outcome outcome;
  UnknownPolicy unknown = UnknownPolicy::hold;
  OnRetry on_retry = OnRetry::keep;
  Duration created_lag{0};  // as in Claim
};

// The claim was never acted on: nothing was executed under this token. Queued work is queued again,
// since nobody else would bring it back.
struct Abandon {
  Token token;
};

struct Sweep {
  Holder holder = Holder::unsure;
  Duration skew{0};
  Duration queued_lease{0};  // how long the taker of queued work has before it is handed out again
  // For a lost execution whose request is kept: try it again after this time instead of making it
  // unknown.
  std::optional<Duration> queue_again_after;
  // For work whose request is kept and that this process does not know. Nothing is decided here:
  // the work is left to the processes that know it. Only after it has been due for this long is it
  // put off, for twice as long, so that it does not block everything that is due later.
  std::optional<Duration> left_to_others_for;
  Duration lag{0};  // as in Claim; the record expires this much later, and is rewritten to say so
};

// An operator's decision. An unknown or queued record is completed if there is an answer; otherwise
// it is released, or queued again if its request is kept and it had begun. A completed or released
// record is forgotten, and leaves a tombstone, or is kept for longer. Work whose request is kept is
// retried or dropped.
struct Resolve {
  Token token;  // of the claim that is decided about; a record with another one is not touched
  std::optional<Answer> answer;
  std::optional<Duration> forget_for = std::nullopt;  // the tombstone lasts at least this long
  std::optional<Duration> extend_for = std::nullopt;
  std::optional<WorkDecision> work = std::nullopt;
  std::string who;
  std::string why;
  Holder holder = Holder::unsure;
  Duration skew{0};
  bool force = false;  // also while the execution may still run
  Duration lag{0};     // as in Claim
  Duration created_lag{0};
};

}  // namespace event

// All events except Claim, which is by far the largest and has its own overload.
using Event = std::variant<event::Start, event::Renew, event::Begin, event::Finish, event::Abandon,
                           event::Sweep, event::Resolve>;

// The answer to the caller, valid once the write (if any) is durable.
namespace verdict {
struct Execute {};  // the written record is the claim
struct Queued {};   // the written record keeps the request
struct Replay {};   // answer from the record
struct Mismatch {
  std::vector<std::string> differs;
};
struct Busy {};
struct OutcomeUnknown {};
struct Expired {};         // the record is a tombstone, or about to become one
struct VersionChanged {};  // completed under another response_version
struct TokenUsed {};       // the claim's token was that of an earlier claim, which has ended
struct Done {};            // the event is in the record
struct Stale {};           // another claim holds the record, or it is gone
struct Refused {           // a resolution that may not be made now
  std::string why;
};
struct Nothing {};  // nothing to do
}  // namespace verdict

using Verdict = std::variant<verdict::Execute, verdict::Queued, verdict::Replay, verdict::Mismatch,
                             verdict::Busy, verdict::OutcomeUnknown, verdict::Expired,
                             verdict::VersionChanged, verdict::TokenUsed, verdict::Done,
                             verdict::Stale, verdict::Refused, verdict::Nothing>;

struct Keep {};  // the record stays as it is
struct Put {
  std::shared_ptr<Record> next;
};
struct Erase {};
using Change = std::variant<Keep, Put, Erase>;

struct Decision {
  Change change;
  Verdict verdict;
};

// Returns true if a claim of this request, fingerprinted under the record's recipe, is answered
// from the record.
bool is_replay(const Record& record, const Fingerprint& compared, const Operation& operation,
               Time now);

// `record` is the current one; null: there is none.
Decision transition(const Record* record, const event::Claim& claim, Time now);
Decision transition(const Record* record, const Event& event, Time now);

}  // namespace semel::core
