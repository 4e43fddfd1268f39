#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <mutex>
#include <thread>

#include "base/backoff.h"
#include "core/transition.h"
#include "engine/claim_hold.h"
#include "engine/clock_steps.h"
#include "engine/executions.h"
#include "engine/spawn.h"
#include "engine/store_clock.h"
#include "engine/watches.h"
#include "semel/driver/engine.h"

namespace semel {

// The engine's parts, shared by admission.cc, engine.cc (requests), queued.cc (accepted work),
// pursuits.cc (work that outlives its call), client_claims.cc (claims held outside) and upkeep.cc
// (leases, expiry, recovery).
class Engine::Impl : public std::enable_shared_from_this<Engine::Impl> {
 public:
  Impl(Store& store_in, Clock& clock_in, TokenSource& tokens_in, Observer& observer_in,
       EngineOptions options_in)
      : store(store_in),
        clock(clock_in, store_in),
        tokens(tokens_in),
        observer(observer_in),
        options(std::move(options_in)),
        exclusive(store.features().exclusive) {}

  // The effect of an event on a record.
  struct Changed {
    RecordPtr before;
    RecordPtr after;
    core::Verdict verdict;
  };
  struct Unavailable : StoreUnavailable {
    bool unsure = false;  // a write may have landed, or may still land
  };
  using Applied = std::variant<Changed, Unavailable, swap::TooLarge>;

  // Decides what the event does to the record now. While the store doubts the clock, nothing
  // expires by it: the record counts as it did when it was last written. nullopt: only the clock
  // can tell.
  template <typename Happened>
  std::optional<core::Decision> decide(const Record* known, const Happened& event, Time now) const {
    core::Decision decision = core::transition(known, event, now);
    if (!known || known->updated_at >= now || !store.doubts().clock) return decision;
    core::Decision earlier = core::transition(known, event, known->updated_at);
    if (earlier.verdict.index() == decision.verdict.index()) return decision;
    if (!std::holds_alternative<core::Keep>(earlier.change)) return std::nullopt;
    return earlier;
  }
  StoreUnavailable doubtful() const;
  // The pauses between tries to reach the store.
  base::Backoff backoff() const { return {options.backoff_min, options.backoff_max}; }

  // Applies the event by compare-and-swap, repeatedly, until it is written or cannot be. Begins
  // with `known`; a conflict returns the current record. A write of unknown fate is confirmed by a
  // write.
  boost::asio::awaitable<Applied> apply(RecordId id, RecordPtr known, core::Event& event);
  class Applying;
  // Tells the observer that the store did not take a write.
  void report(std::string_view write, const SwapResult& result);

  boost::asio::awaitable<Admission> admit(Call call);
  // A record that was written under a former name of the operation.
  struct Former {
    std::string operation;
    RecordPtr record;
  };
  boost::asio::awaitable<StoreResult<std::optional<Former>>> find_former(
      const core::event::Claim& claim, const Call& call);
  boost::asio::awaitable<StoreResult<RecordPtr>> read_settled(RecordId id);
  class Admitting;

  boost::asio::awaitable<Started> start(RecordPtr queued, Operation operation);
  // Finds out what became of a queued record whose write is of unknown fate. If others may have
  // seen it, it stays; if it has not landed, it never will.
  boost::asio::awaitable<void> withdraw(RecordPtr queued);
  void hand_out(const Record& queued);

  boost::asio::awaitable<Finished> finish(EngineClaim claim, Outcome outcome, Listening listening);
  // Evaluates how `event`, a Finish, was applied. nullopt: it was too large for the store, has lost
  // its body or its headers, and must be applied again.
  std::optional<Finished> finished(const EngineClaim& claim, core::Event& event,
                                   Listening listening, Applied applied);
  // Tries once.
  boost::asio::awaitable<Finished> try_finish(const EngineClaim& claim, core::Event& event,
                                              Listening listening);
  boost::asio::awaitable<void> abandon(EngineClaim claim);
  // Gives back a claim on which nothing was executed. If the fate of the claim is unknown (it then
  // has the version it was to replace), finds out first.
  boost::asio::awaitable<void> give_back(RecordPtr claim);
  boost::asio::awaitable<void> finish_in_background(EngineClaim claim,
                                                    std::shared_ptr<core::Event> event,
                                                    Listening listening);
  // Records the end of a claim that was dropped. `ending`: the event that was being recorded; null:
  // the outcome is unknown.
  boost::asio::awaitable<void> finish_dropped(EngineClaim claim,
                                              std::shared_ptr<core::Event> ending);

  // Continues work that no caller waits for, on the engine's own executor. Exceptions are reported.
  void pursue(std::string_view task, boost::asio::awaitable<void> work);
  // Gives the claim back, or withdraws queued work, at the version it was to replace. Called while
  // unwinding: throws nothing.
  void never_ran(const Record& written, Version replaces) noexcept;
  // Called when the last copy of a claim is gone. Throws nothing.
  void dropped(RecordPtr record, Operation operation, ClaimHold::Stage stage,
               std::shared_ptr<core::Event> ending) noexcept;
  boost::asio::any_io_executor executor();

  boost::asio::awaitable<void> renew(engine::Executions::Renewal renewal);
  // Applies a client's report about its claim.
  boost::asio::awaitable<Reported> apply_report(RecordPtr held, core::Event event);
  // Wakes those who watch the record, if this change has ended a claim.
  void wake_watchers(const Record* before, const Record* after);
  // For work whose request is kept.
  KeptWork look_at_kept(const Record& record) const;
  boost::asio::awaitable<void> sweep_record(RecordPtr record, std::size_t& changed_records);

  // Lives as long as the engine's parts, whoever is unwound last.
  std::shared_ptr<engine::Executions> shared_running() { return {shared_from_this(), &running}; }
  core::Holder holder_of(const Record& record) const;
  // Called for every decision: a conflict may return a different claim than the one looked at
  // first.
  void look_at_holder(core::Event& event, const Record* known, Time now);
  // Compares the clocks, and reports a step to the observer.
  void look_at_clocks();
  // Returns by how much the clock was set forward since the record was stamped. Looks only if the
  // record would be over at `now`.
  Duration lag_of(const Record& record, Time now);
  // Returns by how much the clock was set forward since the record was created; only if its ttl
  // counts from then.
  Duration created_lag_of(const Record& record);
  Duration skew() const;
  void settle(const EngineClaim& claim, const Outcome& outcome, const RecordPtr& record,
              Listening listening);

  Store& store;
  engine::StoreClock clock;
  engine::ClockSteps steps;
  TokenSource& tokens;
  Observer& observer;
  const EngineOptions options;
  const bool exclusive;
  engine::Executions running;
  engine::Watches watches;
  std::function<void(QueuedWork)> take_queued;  // set before the loops run, like ask_about_kept
  std::function<KeptWork(const Record&)> ask_about_kept;
  std::atomic<bool> stopped = false;

  struct OwnThread {
    boost::asio::io_context io{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{
        io.get_executor()};
    std::thread thread{[this] { io.run(); }};
  };
  std::mutex executor_mutex;
  boost::asio::any_io_executor given_executor;
  std::unique_ptr<OwnThread> own_thread;
};

// Names, for failure reports, of work that is pursued after its caller has gone.
inline constexpr std::string_view kGivingBack = "giving back a claim";
inline constexpr std::string_view kWithdrawing = "withdrawing queued work";
inline constexpr std::string_view kFinishing = "recording an outcome";
inline constexpr std::string_view kRenewing = "renewing a lease";

// Gives back a claim if it is destroyed while armed: a coroutine was destroyed where it waits, or
// something was thrown.
template <typename Do>
class OnDrop {
 public:
  explicit OnDrop(Do what) : what_(std::move(what)) {}
  ~OnDrop() {
    if (!armed_) return;
    try {
      what_();
    } catch (...) {
      engine::detail::task_failed(kGivingBack, std::current_exception());
    }
  }
  OnDrop(const OnDrop&) = delete;
  OnDrop& operator=(const OnDrop&) = delete;
  void arm() { armed_ = true; }
  void disarm() { armed_ = false; }

 private:
  Do what_;
  bool armed_ = false;
};

// Keeps an execution in the table from before its claim is written until it is finished. If the
// claim does not come about, removes it again.
class Entered {
 public:
  Entered(std::shared_ptr<engine::Executions> running, RecordId id, Token token)
      : running_(std::move(running)), id_(id), token_(token) {
    running_->enter(id_, token_);
  }
  ~Entered() {
    if (!kept_) running_->leave(id_, token_);
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  // For an execution that is already in the table: it leaves with this object.
  static Entered already(std::shared_ptr<engine::Executions> running, RecordId id, Token token) {
    return {std::move(running), id, token, AlreadyIn{}};
  }
  void keep() { kept_ = true; }

 private:
  struct AlreadyIn {};
  Entered(std::shared_ptr<engine::Executions> running, RecordId id, Token token, AlreadyIn)
      : running_(std::move(running)), id_(id), token_(token) {}

  const std::shared_ptr<engine::Executions> running_;
  RecordId id_;
  Token token_;
  bool kept_ = false;
};

}  // namespace semel
