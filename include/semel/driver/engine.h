#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "semel/claim.h"
#include "semel/driver/clock.h"
#include "semel/driver/operation.h"
#include "semel/driver/record.h"
#include "semel/driver/scope.h"
#include "semel/driver/store.h"
#include "semel/outcome.h"

// Decides about every call whether it may be executed, over a store and a clock:
//
//   Admission admission = co_await engine.admit(std::move(call));
//   const EngineClaim claim = std::get<admission::Execute>(admission).claim;  // or another verdict
//   const Finished finished = co_await engine.finish(claim, work(claim.plain()));
namespace semel {

// A claim that is not executed in this process: a client of the service API holds it, under a token
// that it chose, and reports its end. Repeating such a call while the claim lives gives it again.
struct ClientClaim {
  std::string client;  // its name; another client cannot repeat the claim
  Token token;         // not all zero
};

using FingerprintUnder = std::function<boost::asio::awaitable<Fingerprint>(Recipe)>;

// One delivery of a request with a key.
struct Call {
  Scope scope;
  // Earlier names of the operation. A record that exists under one of them is used; a new record
  // is made under the scope's own name. Each name costs one read.
  std::vector<std::string> former_operations;
  std::string key;
  Operation operation;
  Recipe recipe;
  Fingerprint fingerprint;  // under `recipe`
  // Returns the request's fingerprint under the recipe of an existing record. Called at most once
  // per look at the store, and only if that recipe differs from `recipe`.
  FingerprintUnder fingerprint_under;
  std::string trace;
  // Gives the record a handle, so that those who ask again can be pointed to its status.
  bool wants_handle = false;
  // If not empty, the request is kept in the record and executed later, through start(), not now.
  std::string request;
  // The form of the key that the record keeps for people; empty: the key itself.
  std::string shown_key;
  // Kept in the record for people, if the call is executed or queued.
  Description description = {};
  // Set: the claim is the client's (EngineClaim::hold is then null, and the lease is not renewed).
  std::optional<ClientClaim> client = std::nullopt;
  // Called before an execution; returns whether there is room for it. `is_new`: the key has no
  // record. Not called for replays and duplicates. Empty: there is always room.
  std::function<bool(bool is_new)> may_execute;
};

class ClaimHold;

// The right to execute, as the engine grants it. finish() or abandon() must follow. If neither is
// called before the last copy is destroyed, the engine records that the outcome is unknown; if the
// process dies, the key becomes unknown when its lease runs out. The request is never silently run
// again.
struct EngineClaim {
  RecordPtr record;  // as written; never null, like every RecordPtr below unless noted
  Operation operation;
  std::shared_ptr<ClaimHold> hold = nullptr;  // the engine's; null: the record is not held
  // Returns what an executor is told about it.
  Claim plain() const { return {record->id, record->token, record->attempt}; }
};

namespace admission {
struct Execute {
  EngineClaim claim;
};
// The request is kept, durably. The receiver must call start() or put_off().
struct Queued {
  RecordPtr record;
};
struct Replay {
  RecordPtr record;
};
struct Mismatch {
  std::vector<std::string> differs;
  RecordPtr record;  // of the request that used the key
};
struct Busy {
  RecordPtr record;
};
struct OutcomeUnknown {
  RecordPtr record;
};
struct Expired {};
struct VersionChanged {
  RecordPtr record;
};
struct NoRoom {};  // may_execute said no; nothing was changed
// Only for client claims: the token was that of an earlier claim, which has ended.
struct TokenUsed {
  RecordPtr record;
};
}  // namespace admission
using Admission =
    std::variant<admission::Execute, admission::Replay, admission::Mismatch, admission::Busy,
                 admission::OutcomeUnknown, admission::Expired, admission::VersionChanged,
                 StoreUnavailable, admission::Queued, admission::NoRoom, admission::TokenUsed>;

// Accepted work that has not begun. The request is in the record: read the record again.
struct QueuedWork {
  RecordId id;
  Token token;
  std::string tenant = {};
  std::string operation = {};
};

// How this process treats work whose request is kept in its record.
namespace kept {
struct NotOurs {};       // not known here: another process may know how to continue it
struct StaysUnknown {};  // if lost with its process, its outcome is unknown
struct TriedAgain {      // if lost with its process, it is tried again
  Duration after{0};
};
}  // namespace kept
using KeptWork = std::variant<kept::StaysUnknown, kept::TriedAgain, kept::NotOurs>;

namespace start {
struct Gone {};  // somebody else has begun it, or it was decided in another way
}  // namespace start
using Started = std::variant<EngineClaim, start::Gone, StoreUnavailable>;

namespace finish {
// The outcome is durable. `record` is current; null if forgotten (on_retry: forget).
struct Recorded {
  RecordPtr record;
};
// Another claim holds the record, or this claim had already been ended in another way; nothing was
// changed. Answer from the record, never from your own outcome. Null: the record is gone, or now
// belongs to another request and says nothing about this one.
struct Stale {
  RecordPtr record;
};
// The outcome is not durable yet: the engine keeps trying in the background and the claim stays
// alive. Do not answer anything as done.
struct Pending {
  std::string why;
};
}  // namespace finish
using Finished = std::variant<finish::Recorded, finish::Stale, finish::Pending>;

// The results of a client's report about its claim.
namespace client_claim {
struct Recorded {
  RecordPtr record;
};
// The claim has ended in another way, or another one holds the record; nothing was changed.
struct Stale {
  RecordPtr record;  // null: it is gone
};
struct TooLarge {};  // the store does not take a record of this size; nothing was changed
}  // namespace client_claim
using Reported = std::variant<client_claim::Recorded, client_claim::Stale, client_claim::TooLarge,
                              StoreUnavailable>;

// The end of an execution that somebody waited for.
struct Settled {
  Outcome outcome;
  RecordPtr record;  // as written, if it was
};
namespace waited {
struct TimedOut {};
struct LookAgain {};  // it does not run here, or no longer; ask the store
}  // namespace waited
using Waited = std::variant<std::shared_ptr<const Settled>, waited::TimedOut, waited::LookAgain>;

namespace resolve {
struct Done {
  RecordPtr record;
};
struct NotFound {};
struct Refused {
  std::string why;
};
}  // namespace resolve
using Resolved = std::variant<resolve::Done, resolve::NotFound, resolve::Refused, StoreUnavailable>;

struct Resolution {
  std::optional<Answer> answer;  // nullopt: release, or one of the decisions below
  // If set, a completed or released record is forgotten. Its answer is removed now; the key is
  // answered as expired for at least this long, and is new after that.
  std::optional<Duration> forget_for = std::nullopt;
  // If set, a completed or released record expires this long from now. Refused if it would have
  // expired later.
  std::optional<Duration> extend_for = std::nullopt;
  // If set, decides about work whose request is kept and that does not run.
  std::optional<WorkDecision> work = std::nullopt;
  std::string who;
  std::string why;
  bool force = false;
};

// Notified of every transition that was written, and of events that concern leases. Called on the
// executor on which the change was made; must not block.
class Observer {
 public:
  virtual ~Observer() = default;
  // `before` is null if there was no record, `after` if the record was removed.
  virtual void transitioned(const Record* before, const Record* after, Time now) = 0;
  // A record of an earlier run was seen at the start.
  virtual void found(const Record&) {}
  // This process does not know how to continue this work, and no other process has taken it up.
  virtual void left_to_others(const Record&) {}
  virtual void lease_lost(const RecordId& id) = 0;
  virtual void store_failed(std::string_view what, std::string_view why) = 0;
  // The wall clock was set forward or back by this much.
  virtual void clock_stepped(Duration /*by*/) {}
};

struct EngineOptions {
  Owner owner;
  // Greatest difference between the clocks of processes that share the store. nullopt: one second;
  // zero if one process has the store, or if the store's own clock decides.
  std::optional<Duration> skew = std::nullopt;
  // How long admit() and finish() try to reach the store before they report that they cannot.
  Duration patience = std::chrono::seconds(2);
  Duration backoff_min = std::chrono::milliseconds(5);
  Duration backoff_max = std::chrono::seconds(1);
  // Interval between checks of leases, waiters' deadlines and expired records.
  Duration tick = std::chrono::milliseconds(50);
  Duration sweep_every = std::chrono::seconds(1);
  std::size_t sweep_batch = 256;
  // How long queued work that was handed out is not handed out again, by any process.
  Duration queued_lease = std::chrono::seconds(30);
  // How long due work that this process does not know is left to processes that do, before it is
  // put off for twice as long. Covers several of their sweeps.
  Duration others_patience = std::chrono::seconds(5);
};

// Admits each request once, over any store. All calls may be made from any executor and resume on
// the caller's; work that outlives its call continues on the engine's own executor (run_on()). The
// store, clock, token source and observer must outlive the engine. The engine must outlive every
// call and be stopped (call stop(), then let the executors run dry) before it is destroyed.
//
// Uses the store's time if the store has a clock, otherwise the time of `clock`. A record expires
// when its ttl has really passed: setting a clock forward expires nothing earlier, as far as this
// process has seen it being set.
class Engine {
 public:
  Engine(Store& store, Clock& clock, TokenSource& tokens, Observer& observer,
         EngineOptions options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Sets the executor for work that no caller waits for: writes of unknown fate, claims that were
  // dropped, renewals. The executor must have one thread and run until stop(). Set it before
  // anything runs. Without it the engine has a thread of its own, and joins it when destroyed.
  void run_on(boost::asio::any_io_executor executor);
  // Returns the clock that the engine uses. It lives as long as the engine.
  Clock& clock();

  // Returns the record that admit() would return in Replay, if the store has it in memory: without
  // waiting, and without making a claim first. Null: call admit().
  RecordPtr recorded(const RecordId& id, const Recipe& recipe, const Fingerprint& fingerprint,
                     const Operation& operation) const;

  // Decides how to treat this delivery. After Execute the claim is durable.
  boost::asio::awaitable<Admission> admit(Call call);

  // Starts queued work; `queued` is the record as read from the store. After EngineClaim it is
  // durable that the work runs under the next attempt. Otherwise the work is no longer held here,
  // and if it is still queued it will be handed out again.
  boost::asio::awaitable<Started> start(RecordPtr queued, Operation operation);
  // Declines to start the work here now. It stays queued and will be handed out again.
  void put_off(const QueuedWork& work);
  // Sets the receiver of queued work that is found in the store and that nobody in this process
  // holds: after a restart, or after the process that accepted it has died. Called on any executor;
  // must not block. Set it before anything runs.
  void hand_queued_to(std::function<void(QueuedWork)> taker);
  // Sets the function that decides about due work whose request is kept: queued, or lost with its
  // process. NotOurs leaves the work, as it is, to the other processes on the store; if all of them
  // leave it alone while it is due, Observer::left_to_others() is called, over and over. If there
  // can be no other process, NotOurs is treated as StaysUnknown. Must not block. Set it before
  // anything runs.
  void ask_about_kept(std::function<KeptWork(const Record&)> ask);

  // Records the outcome of the execution and wakes those who wait for it. With Listening::yes (an
  // unknown outcome whose answer may still arrive) the execution keeps counting as running, until a
  // second finish() or stop_listening().
  enum class Listening { no, yes };
  boost::asio::awaitable<Finished> finish(EngineClaim claim, Outcome outcome,
                                          Listening listening = Listening::no);
  void stop_listening(const EngineClaim& claim);

  // Writes the status of an answer that is a stream, before its first byte is sent. Returns false
  // if the claim is no longer ours, or if the store cannot be reached.
  boost::asio::awaitable<bool> begin_stream(const EngineClaim& claim, int status);

  // Gives the claim back because nothing was executed. Releases the record.
  boost::asio::awaitable<void> abandon(EngineClaim claim);

  // Waits until the execution of `id` under `token` ends, if it runs in this process, or until work
  // that was queued under `token` begins. Does not wait for anything else that runs under this id
  // by now: that may be another request.
  boost::asio::awaitable<Waited> wait(RecordId id, Token token, Duration timeout);

  // Extends the lease of a client's claim; records its outcome. `held` is the record as read from
  // the store, with the claim's token. Reporting an outcome again gives the same result. After
  // StoreUnavailable the change may have been made or not, and nothing is pursued: the client
  // repeats its report.
  boost::asio::awaitable<Reported> renew(RecordPtr held, Duration lease);
  boost::asio::awaitable<Reported> report(RecordPtr held, Outcome outcome);
  // Waits until the claim under `token`, which does not run in this process, has been ended through
  // this process, or until `timeout` has passed. Look at the record again afterwards. Returns false
  // at once if there is no such claim.
  boost::asio::awaitable<bool> watch(RecordId id, Token token, Duration timeout);

  // Applies an operator's decision about a record whose outcome is unknown, or whose answer is to
  // be forgotten. Refused while the execution may still run, unless forced; if its answer arrives
  // after all, it is then no longer recorded.
  boost::asio::awaitable<Resolved> resolve(RecordId id, Resolution resolution);

  // Renews leases and ends waits that have timed out. Runs until stop().
  boost::asio::awaitable<void> keep();
  // For a store that only this process has open: makes records unknown that an earlier run left in
  // progress, and hands out work that it left queued. Requests need not wait for this: admit()
  // recognizes such records.
  boost::asio::awaitable<void> recover();
  // Expires records in small batches. Runs until stop().
  boost::asio::awaitable<void> sweep_forever();
  // Expires one batch. Returns the number of records it changed.
  boost::asio::awaitable<std::size_t> sweep_once();

  // Ends the loops and all waits. Call it once more when no executor runs any longer, before the
  // executors are destroyed: a wait that began meanwhile must not outlive its executor.
  void stop();
  // Call this before destroying the store while remaining callers have yet to be unwound. No
  // executor may run any more, and the engine may then be asked for nothing but the time.
  void let_go_of_store();

  // The number of executions in this process, the start of the oldest one, and the number of
  // callers that wait for them.
  struct Running {
    std::size_t executions = 0;
    std::optional<Time> oldest;
    std::size_t waiters = 0;
  };
  Running running() const;

 private:
  friend class ClaimHold;
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace semel
