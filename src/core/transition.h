#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "semel/outcome.h"
#include "semel/policy.h"
#include "semel/record.h"
#include "semel/scope.h"

// The protocol. Given the record as it is, an event and the time, says what to write and what the
// caller is told. Pure: no I/O, no clock, no randomness.
//
// If a rule here is wrong, a key runs twice or a client is told something that did not happen.
namespace semel {

// What the engine knows about the holder of the claim, beyond the record.
enum class Holder {
  unsure,        // its lease decides
  running_here,  // the execution runs in this process: alive, whatever the clock says
  gone,          // it belongs to a run that has ended
};

namespace event {

struct Claim {
  RecordId id;  // of the scope and the key
  Scope scope;
  std::string shown_key;    // what the record keeps of the key for people
  Recipe recipe;            // of a new record
  Fingerprint fingerprint;  // under `recipe`
  Fingerprint compared;     // under the recipe kept in the record; unused if there is none
  Policy policy;
  Token token;
  Owner owner;
  Holder holder = Holder::unsure;
  Duration skew{0};  // how much longer than its lease a foreign claim is believed alive
  std::string trace;
  Token handle;             // of a record that has none; all zero: it gets none
  std::string request;      // not empty: the request is queued with it, to be started later
  Duration lag{0};          // by how much the clock was set forward since the record was stamped
  Duration created_lag{0};  // the same since it was made, where its ttl counts from then
};

// Queued work is taken up: it is executed from now on, under the next attempt.
struct Start {
  Token queued;  // the token it was queued under; under another one it is not touched
  Token token;
  Owner owner;
  Policy policy;
};

struct Renew {
  Token token;
  Duration lease{};  // from the moment it is written
};

// A streaming answer begins: its status is written before its first byte is sent.
struct Begin {
  Token token;
  int status = 0;
};

struct Finish {
  Token token;
  Outcome outcome;
  UnknownPolicy unknown = UnknownPolicy::hold;
  OnRetry on_retry = OnRetry::keep;
  Duration created_lag{0};  // as of a claim
};

// The claim was never acted on: nothing was executed under this token. Work that was queued is
// queued again, since nobody else would bring it back.
struct Abandon {
  Token token;
};

struct Sweep {
  Holder holder = Holder::unsure;
  Duration skew{0};
  Duration queued_lease{0};  // how long queued work is left to whom it is handed now
  // Of an execution that was lost and whose request is kept: it is tried again after so long,
  // instead of being unknown.
  std::optional<Duration> queue_again_after;
  // Of work whose request is kept and that this process does not know: nothing is decided here. It
  // is left as it is for those who know it; only after it was due for so long it is put off, for
  // twice as long, so that it does not stand before everything that is due later.
  std::optional<Duration> left_to_others_for;
  Duration lag{0};  // as of a claim: the record expires so much later, and is told so
};

// An operator's decision about an unknown or queued record: with an answer it is completed, without
// one it is released; or queued again, if its request is kept and it had begun. About a completed
// or released one: it is forgotten, and leaves a tombstone.
struct Resolve {
  Token token;  // of the claim it was made about; another one is not touched
  std::optional<Answer> answer;
  std::optional<Duration> forget_for = std::nullopt;  // the tombstone lasts at least so long
  std::string who;
  std::string why;
  Holder holder = Holder::unsure;
  Duration skew{0};
  bool force = false;  // also while the execution may still run
  Duration lag{0};     // as of a claim
  Duration created_lag{0};
};

}  // namespace event

// All but a claim, which is by far the largest, and has a way of its own.
using Event = std::variant<event::Start, event::Renew, event::Begin, event::Finish, event::Abandon,
                           event::Sweep, event::Resolve>;

// What the caller is told once the write (if any) is durable.
namespace verdict {
struct Execute {};  // the record written is the claim
struct Queued {};   // the record written keeps the request
struct Replay {};   // answer from the record
struct Mismatch {
  std::vector<std::string> differs;
};
struct Busy {};
struct OutcomeUnknown {};
struct Expired {};         // a tombstone
struct VersionChanged {};  // completed under another response_version
struct Done {};            // the event is in the record
struct Stale {};           // another claim holds the record, or it is gone
struct Refused {           // a resolution that may not be made now
  std::string why;
};
struct Nothing {};  // nothing to do
}  // namespace verdict

using Verdict =
    std::variant<verdict::Execute, verdict::Queued, verdict::Replay, verdict::Mismatch,
                 verdict::Busy, verdict::OutcomeUnknown, verdict::Expired, verdict::VersionChanged,
                 verdict::Done, verdict::Stale, verdict::Refused, verdict::Nothing>;

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

// Whether a claim of this request, fingerprinted under the record's recipe, is answered from it.
bool is_replay(const Record& record, const Fingerprint& compared, const Policy& policy, Time now);

// `record`: as it is; null: there is none.
Decision transition(const Record* record, const event::Claim& claim, Time now);
Decision transition(const Record* record, const Event& event, Time now);

}  // namespace semel
