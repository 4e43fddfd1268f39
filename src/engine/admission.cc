// Decides what a delivery gets. The promise: whoever is told to execute holds a durable claim that
// nobody else holds. If the fate of the claim cannot be determined in time, nobody executes under
// it.
#include <utility>

#include "engine/confirm.h"
#include "engine/engine_impl.h"

namespace semel {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

struct ToAdmission {
  RecordPtr& record;
  const Operation& operation;
  Admission operator()(const core::verdict::Execute&) const {
    return admission::Execute{{std::move(record), operation}};
  }
  Admission operator()(const core::verdict::Queued&) const {
    return admission::Queued{std::move(record)};
  }
  Admission operator()(const core::verdict::Replay&) const {
    return admission::Replay{std::move(record)};
  }
  Admission operator()(const core::verdict::Mismatch& mismatch) const {
    return admission::Mismatch{mismatch.differs, std::move(record)};
  }
  Admission operator()(const core::verdict::Busy&) const {
    return admission::Busy{std::move(record)};
  }
  Admission operator()(const core::verdict::OutcomeUnknown&) const {
    return admission::OutcomeUnknown{std::move(record)};
  }
  Admission operator()(const core::verdict::Expired&) const { return admission::Expired{}; }
  Admission operator()(const core::verdict::VersionChanged&) const {
    return admission::VersionChanged{std::move(record)};
  }
  Admission operator()(const core::verdict::TokenUsed&) const {
    return admission::TokenUsed{std::move(record)};
  }
  // Verdicts that a claim never gets.
  Admission operator()(const core::verdict::Done&) const { std::unreachable(); }
  Admission operator()(const core::verdict::Stale&) const { std::unreachable(); }
  Admission operator()(const core::verdict::Refused&) const { std::unreachable(); }
  Admission operator()(const core::verdict::Nothing&) const { std::unreachable(); }
};

Admission to_admission(const core::Verdict& verdict, RecordPtr record, const Operation& operation) {
  return std::visit(ToAdmission{record, operation}, verdict);
}

// A placeholder for a record whose creator has not committed yet.
RecordPtr not_committed_yet(const core::event::Claim& claim, Time now) {
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

// Admits one delivery: decides what it gets, writes and confirms the decision, and decides again if
// the record has changed. Does no I/O: admit() provides what it needs, step by step.
class Engine::Impl::Admitting {
 public:
  // `call` outlives this.
  Admitting(Impl& engine, Call& call);
  ~Admitting();
  Admitting(const Admitting&) = delete;
  Admitting& operator=(const Admitting&) = delete;

  // Begins under the present name of the operation, expecting a new key, which is the common case.
  void begin();
  // Begins with a record that was written under a former name of the operation.
  void begin_with(Former former);

  enum class Need { fingerprint, look, swap, pause, nothing };
  Need need() const { return need_; }
  Admission take_result() { return *std::move(admission_); }

  const core::event::Claim& claim() const { return claim_; }
  // Need::fingerprint: fingerprint the request under this recipe.
  const Recipe& recipe() const { return known_->recipe; }
  void fingerprinted(Fingerprint fingerprint);
  // Need::look: read the record.
  void looked(StoreResult<RecordPtr> found);
  // Need::swap
  Version expected() const { return confirm_.expected(); }
  const std::shared_ptr<Record>& next() const { return confirm_.next(); }
  void took(SwapResult result);
  // Need::pause
  Duration pause() { return backoff_.next(); }
  void paused() { need_ = Need::swap; }

 private:
  void enter(RecordPtr known);
  void compare(RecordPtr known);
  void decide();
  void make_room();
  void write();
  void written();
  void give_up();
  void end(Admission admission);
  bool begins() const { return executes_ || queues_; }
  // A claim that a client holds does not run here, and is never given back from here: the client
  // may have been told of it, or repeat it, at any time.
  bool is_clients() const { return call_.client.has_value(); }
  // Pursues the claim as it may be in the store.
  void pursue_claim(RecordPtr claim);

  Impl& engine_;
  Call& call_;
  core::event::Claim claim_;
  std::optional<Scope> present_;  // set: claim_ is under a former name
  std::optional<Entered> entered_;
  RecordPtr known_;
  bool has_room_ = false;
  base::Backoff backoff_;
  const SteadyTime give_up_at_;

  // The last decision.
  Time decided_at_{};
  SteadyTime decided_steady_{};
  core::Verdict verdict_;
  std::shared_ptr<Record> decided_;  // the record to write; null once it is being written
  bool executes_ = false;
  bool queues_ = false;
  bool is_new_ = false;
  bool is_doubtful_ = false;
  engine::Confirm confirm_;

  Need need_ = Need::nothing;
  std::optional<Admission> admission_;
};

Engine::Impl::Admitting::Admitting(Impl& engine, Call& call)
    : engine_(engine),
      call_(call),
      backoff_(engine.backoff()),
      give_up_at_(after(engine.clock.steady(), engine.options.patience)) {
  claim_.id = make_id(call.scope, call.key);
  claim_.scope = std::move(call.scope);
  claim_.shown_key = call.shown_key.empty() ? call.key : std::move(call.shown_key);
  claim_.recipe = std::move(call.recipe);
  claim_.fingerprint = std::move(call.fingerprint);
  claim_.operation = std::move(call.operation);
  claim_.owner = engine.options.owner;
  if (call.client) claim_.owner = client_owner(call.client->client, claim_.owner.run);
  claim_.skew = engine.skew();
  claim_.trace = std::move(call.trace);
  if (call.wants_handle) claim_.handle = engine.tokens.next();
  claim_.request = std::move(call.request);
  claim_.description = std::move(call.description);
}

Engine::Impl::Admitting::~Admitting() {
  const bool may_land = need_ == Need::swap || (need_ == Need::pause && confirm_.is_unsure());
  if (!may_land || !begins() || is_clients() || engine_.stopped) return;
  // The caller is gone, but the claim may still land.
  if (executes_) entered_->keep();
  engine_.never_ran(*confirm_.next(), confirm_.expected());
}

void Engine::Impl::Admitting::begin() {
  enter(nullptr);
}

void Engine::Impl::Admitting::begin_with(Former former) {
  present_ = claim_.scope;
  claim_.id = former.record->id;
  claim_.scope.operation = std::move(former.operation);
  enter(std::move(former.record));
}

void Engine::Impl::Admitting::enter(RecordPtr known) {
  if (is_clients()) {
    claim_.token = call_.client->token;
  } else {
    claim_.token = engine_.tokens.next_for(claim_.id);
    entered_.emplace(engine_.shared_running(), claim_.id, claim_.token);
  }
  compare(std::move(known));
}

void Engine::Impl::Admitting::compare(RecordPtr known) {
  known_ = std::move(known);
  if (known_ && known_->recipe != claim_.recipe) {
    need_ = Need::fingerprint;
    return;
  }
  if (known_) claim_.compared = claim_.fingerprint;
  decide();
}

void Engine::Impl::Admitting::fingerprinted(Fingerprint fingerprint) {
  claim_.compared = std::move(fingerprint);
  decide();
}

void Engine::Impl::Admitting::decide() {
  need_ = Need::nothing;
  if (known_) claim_.holder = engine_.holder_of(*known_);
  decided_at_ = engine_.clock.now();
  if (known_) {
    claim_.lag = engine_.lag_of(*known_, decided_at_);
    claim_.created_lag = engine_.created_lag_of(*known_);
  }
  decided_steady_ = engine_.clock.steady();
  auto decided = engine_.decide(known_.get(), claim_, decided_at_);
  if (!decided) return end(engine_.doubtful());
  verdict_ = std::move(decided->verdict);
  auto* put = std::get_if<core::Put>(&decided->change);
  if (!put) return end(to_admission(verdict_, std::move(known_), claim_.operation));

  decided_ = std::move(put->next);
  executes_ = std::holds_alternative<core::verdict::Execute>(verdict_);
  queues_ = std::holds_alternative<core::verdict::Queued>(verdict_);
  const bool repeats = known_ && known_->token == claim_.token;
  is_new_ =
      !repeats && ((executes_ && decided_->attempt == 1) || (queues_ && decided_->attempt == 0));
  if (present_ && is_new_) {
    // New work begins under the present name, so that everybody who begins it meets there.
    claim_.scope = *std::exchange(present_, std::nullopt);
    claim_.id = make_id(claim_.scope, call_.key);
    return enter(nullptr);
  }
  if (repeats) return write();
  is_doubtful_ = begins() && engine_.store.doubts().claims;
  if (is_doubtful_ && known_) return end(engine_.doubtful());
  const bool asks_for_room = begins() && call_.may_execute && !has_room_;
  if (!asks_for_room && !is_doubtful_) return write();
  // So far the record was only assumed to be absent, and a duplicate needs no room.
  if (known_) return make_room();
  need_ = Need::look;
}

void Engine::Impl::Admitting::looked(StoreResult<RecordPtr> found) {
  need_ = Need::nothing;
  if (!found) return end(std::move(found.error()));
  if (*found) return compare(*std::move(found));
  if (is_doubtful_) return end(engine_.doubtful());
  make_room();
}

void Engine::Impl::Admitting::make_room() {
  if (!call_.may_execute(is_new_)) return end(admission::NoRoom{});
  has_room_ = true;
  write();
}

void Engine::Impl::Admitting::write() {
  // A client may use one token for two calls, so the token alone does not say whose a write is.
  const bool is_marked = begins() && !is_clients();
  const auto mark = is_marked ? engine::Confirm::Mark::token : engine::Confirm::Mark::content;
  confirm_ = {mark, std::move(decided_), known_ ? known_->version : 0};
  need_ = Need::swap;
}

void Engine::Impl::Admitting::took(SwapResult result) {
  need_ = Need::nothing;
  using Step = engine::Confirm::Step;
  switch (confirm_.took(result)) {
    case Step::durable:
      return written();
    case Step::again:
      need_ = Need::swap;
      return;
    case Step::lost:
    case Step::gone:
      return compare(confirm_.take_found());
    case Step::ended:
      if (queues_) return compare(confirm_.take_found());
      // The claim was swept up while we could not see it. Nothing ran under it.
      pursue_claim(confirm_.take_found());
      return end(StoreUnavailable{"the claim was lost while it was being confirmed"});
    case Step::held: {
      RecordPtr found = confirm_.take_found();
      return end(
          admission::Busy{found ? std::move(found) : not_committed_yet(claim_, decided_at_)});
    }
    case Step::unavailable:
      engine_.report("claim", result);
      return end(std::get<StoreUnavailable>(std::move(result)));
    case Step::too_large:
      return end(StoreUnavailable{"the record is larger than the store accepts"});
    case Step::later:
      engine_.report("claim", result);
      if (engine_.clock.steady() >= give_up_at_) return give_up();
      need_ = Need::pause;
      return;
  }
}

void Engine::Impl::Admitting::pursue_claim(RecordPtr claim) {
  entered_->keep();
  engine_.pursue(kGivingBack, engine_.give_back(std::move(claim)));
}

void Engine::Impl::Admitting::written() {
  const std::shared_ptr<Record> record = confirm_.take_next();
  std::shared_ptr<ClaimHold> hold;
  const bool holds = executes_ && !is_clients();
  if (holds) {
    hold = std::make_shared<ClaimHold>(engine_.weak_from_this(), record, claim_.operation);
  }
  engine_.observer.transitioned(known_.get(), record.get(), decided_at_);
  engine_.wake_watchers(known_.get(), record.get());
  if (executes_ && engine_.clock.now() >= record->lease_until) {
    // The claim was ours, but others may have given it up for lost by now.
    if (holds) {
      hold->ended();
      pursue_claim(record);
    }
    return end(StoreUnavailable{"the claim was written too slowly for its lease"});
  }
  Admission admission = to_admission(verdict_, record, claim_.operation);
  if (auto* execute = std::get_if<admission::Execute>(&admission); execute && holds) {
    execute->claim.hold = std::move(hold);
    engine_.running.started(execute->claim, decided_at_, decided_steady_);
  }
  if (begins() && entered_) entered_->keep();
  end(std::move(admission));
}

void Engine::Impl::Admitting::give_up() {
  const bool was_seen = confirm_.was_seen();
  const Version replaces = confirm_.expected();
  const std::shared_ptr<Record> claim = confirm_.take_next();
  claim->version = replaces;
  if (executes_ && !is_clients()) pursue_claim(claim);
  // If the record was seen in the store, others may have seen it too: it stays, and is handed out
  // when it is due.
  if (queues_ && !was_seen) engine_.pursue(kWithdrawing, engine_.withdraw(claim));
  end(StoreUnavailable{"the fate of a claim could not be confirmed"});
}

void Engine::Impl::Admitting::end(Admission admission) {
  admission_ = std::move(admission);
}

awaitable<Admission> Engine::Impl::admit(Call call) {
  using Need = Admitting::Need;
  Admitting admitting(*this, call);
  std::optional<Former> former;
  if (!call.former_operations.empty()) {
    auto found = co_await find_former(admitting.claim(), call);
    if (!found) co_return std::move(found.error());
    former = *std::move(found);
  }
  if (former) {
    admitting.begin_with(*std::move(former));
  } else {
    admitting.begin();
  }
  while (admitting.need() != Need::nothing) {
    if (admitting.need() == Need::fingerprint) {
      admitting.fingerprinted(co_await call.fingerprint_under(admitting.recipe()));
    } else if (admitting.need() == Need::look) {
      admitting.looked(co_await store.read(admitting.claim().id));
    } else if (admitting.need() == Need::swap) {
      admitting.took(
          co_await store.swap(admitting.claim().id, admitting.expected(), admitting.next()));
    } else {
      co_await clock.sleep(admitting.pause());
      admitting.paused();
    }
  }
  co_return admitting.take_result();
}

awaitable<StoreResult<std::optional<Engine::Impl::Former>>> Engine::Impl::find_former(
    const core::event::Claim& claim, const Call& call) {
  for (const std::string& operation : call.former_operations) {
    Scope scope = claim.scope;
    scope.operation = operation;
    auto found = co_await read_settled(make_id(scope, call.key));
    if (!found) co_return std::unexpected(std::move(found.error()));
    if (!*found) continue;
    // A record under the present name wins: it was written later.
    const auto present = co_await store.read(claim.id);
    if (!present) co_return std::unexpected(present.error());
    if (*present) break;
    co_return Former{operation, *std::move(found)};
  }
  co_return std::nullopt;
}

// Also waits for a claim that is not in the store yet: a request that began under an older
// configuration may be writing it in this process, and it must not be missed.
awaitable<StoreResult<RecordPtr>> Engine::Impl::read_settled(RecordId id) {
  base::Backoff pauses = backoff();
  const SteadyTime give_up = after(clock.steady(), options.patience);
  for (;;) {
    const bool is_entered = running.has_any(id);
    auto found = co_await store.read(id);
    if (!found || *found || !is_entered) co_return found;
    if (clock.steady() >= give_up) {
      co_return std::unexpected(StoreUnavailable{"a claim under a former name is not settled yet"});
    }
    co_await clock.sleep(pauses.next());
  }
}

}  // namespace semel
