#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "semel/clock.h"
#include "semel/outcome.h"
#include "semel/policy.h"
#include "semel/record.h"
#include "semel/scope.h"
#include "semel/store.h"

namespace semel {

using FingerprintUnder = std::function<boost::asio::awaitable<Fingerprint>(Recipe)>;

// One delivery of a request with a key.
struct Ask {
  Scope scope;
  // Names the operation had before. A record that exists under one of them is the record; what is
  // new begins under the scope's own name. Each costs one read.
  std::vector<std::string> former_operations;
  std::string key;
  Policy policy;
  Recipe recipe;
  Fingerprint fingerprint;  // under `recipe`
  // The same request under the recipe of an existing record. Called at most once per look at the
  // store, and only when that recipe is another one.
  FingerprintUnder fingerprint_under;
  std::string trace;
  // The record gets a handle, so that whoever asks again can be pointed at its status.
  bool wants_handle = false;
  // Not empty: it is kept in the record, and executed later, through start(), instead of now.
  std::string request;
  // What the record keeps of the key for people; empty: the key itself.
  std::string shown_key;
  // Asked before something is executed: whether there is room for it. `is_new`: of a key without a
  // record. Replays and duplicates do not come here. Empty: always.
  std::function<bool(bool is_new)> may_execute;
};

class ClaimHold;

// The right to execute. A finish() or abandon() must follow. If neither comes before the last copy
// is gone, the engine records that the outcome is unknown; if the process dies, the key becomes
// unknown when its lease runs out. It is never silently run again.
struct Claim {
  RecordPtr record;  // as written; never null, as in all that follows unless it says so
  Policy policy;
  std::shared_ptr<ClaimHold> hold = nullptr;  // the engine's; null: of a record that is not held
};

namespace admission {
struct Execute {
  Claim claim;
};
// The request is kept, and durable. Whoever was told so must start() it, or put_off().
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
}  // namespace admission
using Admission =
    std::variant<admission::Execute, admission::Replay, admission::Mismatch, admission::Busy,
                 admission::OutcomeUnknown, admission::Expired, admission::VersionChanged,
                 StoreUnavailable, admission::Queued, admission::NoRoom>;

// Accepted work that has not begun. The request is in the record: read it anew.
struct QueuedWork {
  RecordId id;
  Token token;
  std::string tenant = {};
  std::string operation = {};
};

// What this process knows about work whose request is kept in its record.
namespace kept {
struct NotOurs {};       // nothing: another process may know how it goes on
struct StaysUnknown {};  // if it was lost with its process, nobody knows what became of it
struct TriedAgain {      // if it was lost with its process, it is tried again
  Duration after{0};
};
}  // namespace kept
using KeptWork = std::variant<kept::StaysUnknown, kept::TriedAgain, kept::NotOurs>;

namespace start {
struct Gone {};  // somebody else has begun it, or it was decided otherwise
}  // namespace start
using Started = std::variant<Claim, start::Gone, StoreUnavailable>;

namespace finish {
// Durable. The record as it now is; null if it was forgotten (on_retry: forget).
struct Recorded {
  RecordPtr record;
};
// Another claim holds the record, or this one was ended otherwise before; nothing was changed.
// Answer from the record, never from one's own outcome. Null: it is gone, or it is another
// request's by now, and says nothing about this one.
struct Stale {
  RecordPtr record;
};
// Not durable yet: the engine goes on trying in the background and the claim stays alive. Nothing
// may be answered as done.
struct Pending {
  std::string why;
};
}  // namespace finish
using Finished = std::variant<finish::Recorded, finish::Stale, finish::Pending>;

// How an execution that somebody waited for ended.
struct Settled {
  Outcome outcome;
  RecordPtr record;  // as written, where it was
};
namespace waited {
struct TimedOut {};
struct LookAgain {};  // it does not run here (any more); ask the store
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
  std::optional<Answer> answer;  // nullopt: release, or forget
  // Set: what is completed or released is forgotten. Its answer goes now; the key is answered as
  // expired for so long at least, and is new after that.
  std::optional<Duration> forget_for = std::nullopt;
  std::string who;
  std::string why;
  bool force = false;
};

// Told of every transition that was written, and of what happened to leases. Called on whichever
// executor the change was made; must not block.
class Observer {
 public:
  virtual ~Observer() = default;
  // `before` is null when there was none, `after` when it was removed.
  virtual void transitioned(const Record* before, const Record* after, Time now) = 0;
  // A record of an earlier run, seen at the start.
  virtual void found(const Record&) {}
  // Work that this process does not know how to go on with, and that no other has taken up either.
  virtual void left_to_others(const Record&) {}
  virtual void lease_lost(const RecordId& id) = 0;
  virtual void store_failed(std::string_view what, std::string_view why) = 0;
  // The wall clock was set, forward or back, by so much.
  virtual void clock_stepped(Duration /*by*/) {}
};

struct EngineOptions {
  Owner owner;
  // By how much the clocks of processes that share the store may differ. nullopt: a second, or
  // nothing where one process has the store, or where the store's own clock decides.
  std::optional<Duration> skew = std::nullopt;
  // How long admit() and finish() try to reach the store before they say so.
  Duration patience = std::chrono::seconds(2);
  Duration backoff_min = std::chrono::milliseconds(5);
  Duration backoff_max = std::chrono::seconds(1);
  // How often leases, waiters' deadlines and expired records are looked at.
  Duration tick = std::chrono::milliseconds(50);
  Duration sweep_every = std::chrono::seconds(1);
  std::size_t sweep_batch = 256;
  // For how long queued work that was handed out is not handed out again, by any process.
  Duration queued_lease = std::chrono::seconds(30);
  // How long due work that this process does not know is left to those that do, before it is put
  // off for twice as long. Several of their sweeps.
  Duration others_patience = std::chrono::seconds(5);
};

// Admits each request once, over any store. All calls may be made from any executor and resume on
// the caller's; what outlives its call goes on on the engine's own (run_on()). The store, clock,
// token source and observer must outlive it; it must outlive every call and be stopped (stop(),
// then the executors run dry) before it is destroyed.
//
// Time is the store's, where it has a clock, and `clock`'s where it has none. A record expires when
// its ttl has really passed: a clock that is set forward expires nothing earlier, as far as this
// process has seen it being set.
class Engine {
 public:
  Engine(Store& store, Clock& clock, TokenSource& tokens, Observer& observer,
         EngineOptions options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Where it goes on with what a caller no longer waits for: writes of unknown fate, claims that
  // were dropped, renewals. It must have one thread, and run until stop(). To be set before
  // anything runs. Without it the engine has a thread of its own, which it waits for when it is
  // destroyed.
  void run_on(boost::asio::any_io_executor executor);
  // The time that the engine goes by. Lives as long as the engine.
  Clock& clock();

  // The record that admit() would say Replay with, if the store has it at hand: without waiting,
  // and without a claim being made first. Null: ask admit().
  RecordPtr recorded(const RecordId& id, const Recipe& recipe, const Fingerprint& fingerprint,
                     const Policy& policy) const;

  // Decides what this delivery gets. After Execute the claim is durable.
  boost::asio::awaitable<Admission> admit(Ask ask);

  // Takes up queued work, as it was read from the store. After Claim it is durable that it runs
  // under the next attempt. Otherwise it is no longer held here, and if it is still queued it will
  // be handed out again.
  boost::asio::awaitable<Started> start(RecordPtr queued, Policy policy);
  // It is not started here now; it stays queued and will be handed out again.
  void put_off(const QueuedWork& work);
  // Who gets queued work that is found in the store and that nobody in this process holds: after a
  // restart, after the process that accepted it has died. Called on any executor; must not block.
  // To be set before anything runs.
  void hand_queued_to(std::function<void(QueuedWork)> taker);
  // Asked about work that is due and whose request is kept: queued, or lost with its process. What
  // is NotOurs is left, as it is, to the other processes on the store; for what is due and left
  // alone by all of them the observer hears left_to_others(), over and over. Where there can be no
  // other process it is as if it were StaysUnknown. Must not block. To be set before anything runs.
  void ask_about_kept(std::function<KeptWork(const Record&)> ask);

  // Records how the execution ended and wakes those who wait for it. With Listening::yes (an
  // unknown outcome whose answer may still arrive) the execution goes on counting as running, until
  // a second finish() or stop_listening().
  enum class Listening { no, yes };
  boost::asio::awaitable<Finished> finish(Claim claim, Outcome outcome,
                                          Listening listening = Listening::no);
  void stop_listening(const Claim& claim);

  // The answer is a stream that now begins: writes its status before its first byte is sent. False:
  // the claim is no longer ours, or the store cannot be reached.
  boost::asio::awaitable<bool> begin_stream(const Claim& claim, int status);

  // Gives the claim back: nothing was executed. The record is released.
  boost::asio::awaitable<void> abandon(Claim claim);

  // Holds the caller until the execution of `id` under `token` ends, if it runs in this process, or
  // until work that was queued under `token` begins.
  // Not of whatever runs under this id by now: that may be another request's.
  boost::asio::awaitable<Waited> wait(RecordId id, Token token, Duration timeout);

  // An operator's decision about a record: whose outcome is unknown, or whose answer is to be
  // forgotten. Refused while the execution may still run, unless forced; its answer, should it come
  // after all, is then no longer recorded.
  boost::asio::awaitable<Resolved> resolve(RecordId id, Resolution resolution);

  // Renews leases and ends waits whose time is over. Runs until stop().
  boost::asio::awaitable<void> keep();
  // On a store that only this process has open: what an earlier run left in progress becomes
  // unknown, and what it left queued is handed out. Requests need not wait for it: admit() knows
  // such records for what they are.
  boost::asio::awaitable<void> recover();
  // Expires records in small batches. Runs until stop().
  boost::asio::awaitable<void> sweep_forever();
  // One batch; the number of records it changed.
  boost::asio::awaitable<std::size_t> sweep_once();

  // Ends the loops and all waits. To be called once more when no executor runs any longer, before
  // they are destroyed: a wait that began meanwhile must not outlive its executor.
  void stop();
  // The store is about to be destroyed, while callers that are left are still to be unwound. No
  // executor runs any more, and nothing is asked of the engine but the time.
  void let_go_of_store();

  // The number of executions in this process, since when the oldest runs, and how many wait for
  // them.
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
