#pragma once

#include <atomic>

#include "core/transition.h"
#include "engine/executions.h"
#include "semel/engine.h"

namespace semel {

// The engine's parts, shared by engine.cc (requests) and upkeep.cc (leases, expiry, recovery).
class Engine::Impl {
 public:
  Impl(Store& store_in, Clock& clock_in, TokenSource& tokens_in, Observer& observer_in,
       EngineOptions options_in)
      : store(store_in),
        clock(clock_in),
        tokens(tokens_in),
        observer(observer_in),
        options(std::move(options_in)),
        exclusive(store.features().exclusive) {}

  // What an event did to a record.
  struct Changed {
    RecordPtr before;
    RecordPtr after;
    Verdict verdict;
  };
  struct Unavailable : StoreUnavailable {
    bool unsure = false;  // a write may have landed, or may land yet
  };
  using Applied = std::variant<Changed, Unavailable, swap::TooLarge>;

  // What the event does to the record now. While the store doubts the clock, nothing is over by it:
  // the record counts as what it was when it was last written. nullopt: only the clock can tell.
  template <typename Happened>
  std::optional<Decision> decide(const Record* known, const Happened& event, Time now) const {
    Decision decision = transition(known, event, now);
    if (!known || known->updated_at >= now || !store.doubts().clock) return decision;
    Decision earlier = transition(known, event, known->updated_at);
    if (earlier.verdict.index() == decision.verdict.index()) return decision;
    if (!std::holds_alternative<Keep>(earlier.change)) return std::nullopt;
    return earlier;
  }
  StoreUnavailable doubtful() const;

  // Applies the event by compare-and-swap, over and over until it took or cannot. `known` is where
  // it begins; a conflict brings the truth. A write of unknown fate is confirmed by a write.
  boost::asio::awaitable<Applied> apply(RecordId id, RecordPtr known, Event& event);

  boost::asio::awaitable<Admission> admit(Ask ask);
  // A record from when the operation had another name.
  struct Former {
    std::string operation;
    RecordPtr record;
  };
  boost::asio::awaitable<StoreResult<std::optional<Former>>> find_former(const event::Claim& claim,
                                                                         const Ask& ask);
  boost::asio::awaitable<StoreResult<std::optional<Record>>> read_settled(RecordId id);
  // Begins with `known`: null, since a new key is the common case, or a record under a former
  // name. nullopt comes back only for the latter: the key is new after all.
  boost::asio::awaitable<std::optional<Admission>> admit_known(event::Claim& claim, const Ask& ask,
                                                               RecordPtr known);

  boost::asio::awaitable<Started> start(RecordPtr queued, Policy policy);
  // Finds out what became of a queued record whose write is of unknown fate. If others may have
  // seen it, it stays; if it never landed, it does not land any more.
  boost::asio::awaitable<void> withdraw(RecordPtr queued);
  boost::asio::awaitable<void> withdraw_later(RecordPtr queued);
  void hand_out(const Record& queued);

  boost::asio::awaitable<Finished> finish(Claim claim, Outcome outcome, Listening listening);
  // Tries once; `event` is a Finish. An outcome that is too large to store loses its body, then its
  // headers.
  boost::asio::awaitable<Finished> try_finish(const Claim& claim, Event& event,
                                              Listening listening);
  // Gives back a claim on which nothing was executed. Its fate may not even be known (it is then at
  // the version it was to replace): finds out first.
  boost::asio::awaitable<void> give_back(RecordPtr claim);
  // The same in the background, for a caller whose client is not to wait for it.
  boost::asio::awaitable<void> give_back_later(RecordPtr claim);
  boost::asio::awaitable<void> finish_in_background(Claim claim, Event event, Listening listening);

  boost::asio::awaitable<void> renew(Executions::Renewal renewal);
  // Of work whose request is kept.
  KeptWork look_at_kept(const Record& record) const;
  boost::asio::awaitable<void> sweep_record(Record record, std::size_t& changed_records);

  Holder holder_of(const Record& record) const;
  // A conflict may bring another claim than the one that was looked at first.
  void look_at_holder(Event& event, const Record* known) const;
  void settle(const Claim& claim, const Outcome& outcome, const RecordPtr& record,
              Listening listening);

  Store& store;
  Clock& clock;
  TokenSource& tokens;
  Observer& observer;
  const EngineOptions options;
  const bool exclusive;
  Executions running;
  std::function<void(QueuedWork)> take_queued;  // set before the loops run, like the next
  std::function<KeptWork(const Record&)> ask_about_kept;
  std::atomic<bool> stopped = false;
};

// An execution is in the table from before its claim is written until it is finished; if the claim
// does not come about, it leaves again by itself.
class Entered {
 public:
  Entered(Executions& running, RecordId id, Token token)
      : running_(running), id_(id), token_(token) {
    running_.enter(id_, token_);
  }
  ~Entered() {
    if (!kept_) running_.leave(id_, token_);
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  void keep() { kept_ = true; }

 private:
  Executions& running_;
  RecordId id_;
  Token token_;
  bool kept_ = false;
};

// Doubles up to a maximum.
class Backoff {
 public:
  explicit Backoff(const EngineOptions& options)
      : next_(options.backoff_min), max_(options.backoff_max) {}
  Duration next() {
    const Duration now = next_;
    next_ = std::min(next_ * 2, max_);
    return now;
  }

 private:
  Duration next_;
  Duration max_;
};

}  // namespace semel
