#include "sim/node.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>

namespace semel::sim {
namespace {

using boost::asio::awaitable;

constexpr int kLooksMax = 4;
constexpr Duration kWaitMax = std::chrono::seconds(3);

// Counts those who have not been answered yet. A session that dies with its node counts no more.
class OpenSession {
 public:
  explicit OpenSession(int& count) : count_(count) { ++count_; }
  ~OpenSession() { --count_; }
  OpenSession(const OpenSession&) = delete;
  OpenSession& operator=(const OpenSession&) = delete;

 private:
  int& count_;
};

EngineOptions options_of(const Scenario& scenario, const Node::Place& place) {
  using std::chrono::milliseconds;
  EngineOptions options;
  options.owner = {fmt::format("node{}", place.number), place.run};
  options.skew = scenario.skew;
  options.patience = milliseconds(400);
  options.backoff_min = milliseconds(5);
  options.backoff_max = milliseconds(200);
  options.tick = milliseconds(200);
  options.sweep_every = milliseconds(500);
  options.sweep_batch = 3;  // fewer than there are keys
  options.queued_lease = std::chrono::seconds(3);
  return options;
}

Fingerprint fingerprint_of(int payload) {
  Fingerprint fingerprint;
  fingerprint.digest[0] = static_cast<std::uint8_t>(payload);
  fingerprint.parts = {1, 2, 3, 4, static_cast<std::uint64_t>(payload)};
  return fingerprint;
}

Outcome outcome_of(const Execution& execution) {
  switch (execution.fate) {
    case Fate::final:
      return {OutcomeKind::final, execution.answer, "status 200"};
    case Fate::retry:
    case Fate::auth:
      return {OutcomeKind::retry, execution.answer, "nothing done"};
    case Fate::refused:
      return {OutcomeKind::retry, execution.answer, "connection refused"};
    case Fate::silent:
      break;
  }
  return {OutcomeKind::unknown, execution.answer, "no answer"};
}

std::string write_request(const Request& request) {
  return fmt::format("{} {}", request.key, request.payload);
}
Request read_request(const std::string& text) {
  Request request;
  request.key = std::stoi(text);
  request.payload = std::stoi(text.substr(text.find(' ')));
  request.async = true;
  return request;
}

std::string_view verdict_name(const Admission& admission) {
  static constexpr std::string_view kNames[] = {
      "execute", "replay",          "mismatch",          "busy",  "outcome unknown",
      "expired", "version changed", "store unavailable", "queued"};
  return kNames[admission.index()];
}

}  // namespace

Node::Node(Lab& lab, const Place& place)
    : lab_(lab),
      place_(place),
      name_(fmt::format("n{}.{}", place.number, place.run)),
      clock_(lab.time, place.lane, place.clock_off),
      watched_(make_planted(lab.plant,
                            std::make_unique<FaultyStore>(lab, name_, place.lane, place.wire)),
               lab.leases),
      engine_(watched_, clock_, lab.tokens, *this, options_of(lab.scenario, place)) {
  engine_.run_on(lab.io.get_executor());
  engine_.hand_queued_to([this](QueuedWork work) {
    lab_.tally.count("queued work handed out");
    spawn(run_queued(work));
  });
  spawn(engine_.keep());
  spawn(engine_.sweep_forever());
  spawn(engine_.recover());
}

void Node::spawn(awaitable<void> task) {
  boost::asio::co_spawn(lab_.io, std::move(task), [](std::exception_ptr failed) {
    if (failed) std::rethrow_exception(failed);
  });
}

void Node::serve(const Request& request) {
  spawn(handle(request));
}

void Node::resolve(int key, bool complete) {
  spawn(resolve_key(key, complete));
}

void Node::freeze(Duration duration) {
  lab_.time.freeze(place_.lane, lab_.time.now() + duration);
}

void Node::die() {
  alive_ = false;
  engine_.stop();  // a process that dies says nothing more
  const Owner owner = options_of(lab_.scenario, place_).owner;
  lab_.died.insert({owner.node, owner.run});
  lab_.leases.died(place_.lane);
  lab_.time.take(place_.lane);
  lab_.time.run_ready();  // unwinds what has just been dropped
}

Call Node::call(const Request& request) const {
  const KeyRules& rules = lab_.scenario.keys[static_cast<std::size_t>(request.key)];
  Call call;
  call.scope = lab_.scope;
  call.key = lab_.key_name(request.key);
  call.operation = rules.operation;
  if (lab_.time.now() - support::VirtualTime::kStart >= rules.version_bump_at) {
    call.operation.response_version = "2";
  }
  call.fingerprint = fingerprint_of(request.payload);
  call.wants_handle = true;
  if (request.async) call.request = write_request(request);
  return call;
}

// Reads the request anew, as whoever finds it after a restart must.
awaitable<void> Node::run_queued(QueuedWork work) {
  co_await lab_.time.pause(place_.lane, lab_.random.ms(0, 300));
  const auto found = co_await watched_.read(work.id);
  if (!found || !*found || (*found)->request.empty() || lab_.random.chance(100)) {
    lab_.tally.count("queued work put off");
    engine_.put_off(work);
    co_return;
  }
  const Request request = read_request((*found)->request);
  Call same = call(request);
  Started started = co_await engine_.start(*found, std::move(same.operation));
  if (auto* claim = std::get_if<EngineClaim>(&started)) {
    lab_.tally.count("queued work started");
    co_await execute(request, std::move(*claim));
  }
}

awaitable<void> Node::handle(Request request) {
  const OpenSession open(lab_.open_sessions);
  co_await lab_.time.pause(place_.lane, lab_.random.ms(0, 5));
  for (int look = 0; look < kLooksMax; ++look) {
    Admission admission = co_await engine_.admit(call(request));
    lab_.trace.line(lab_.time.now(), [&] {
      return fmt::format("{} k{} admitted: {}", name_, request.key, verdict_name(admission));
    });
    lab_.tally.count(verdict_name(admission));
    if (auto* execution = std::get_if<admission::Execute>(&admission)) {
      co_await execute(request, std::move(execution->claim));
      co_return;
    }
    if (const auto* replay = std::get_if<admission::Replay>(&admission)) {
      answered(request, replay->record.get(), replay->record->answer, "replay");
    }
    if (auto* queued = std::get_if<admission::Queued>(&admission)) {
      lab_.accepted.push_back({queued->record->id, queued->record->token});
      spawn(run_queued({queued->record->id, queued->record->token}));
      co_return;
    }
    const auto* busy = std::get_if<admission::Busy>(&admission);
    if (busy && busy->record->state == RecordState::queued) {
      lab_.tally.count("busy with queued work");
      lab_.accepted.push_back({busy->record->id, busy->record->token});
    }
    if (!busy || !request.waits) co_return;

    const Waited waited = co_await engine_.wait(busy->record->id, busy->record->token, kWaitMax);
    if (!alive_ || std::holds_alternative<waited::TimedOut>(waited)) co_return;
    if (const auto* shared = std::get_if<std::shared_ptr<const Settled>>(&waited)) {
      const Settled& settled = **shared;
      const bool done = settled.record && settled.record->state == RecordState::completed;
      if (done || settled.outcome.kind == OutcomeKind::final) {
        answered(request, settled.record.get(), settled.outcome.answer, "waiter");
      }
      co_return;
    }
    co_await lab_.time.pause(place_.lane, lab_.random.ms(5, 50));
  }
}

awaitable<void> Node::execute(Request request, EngineClaim claim) {
  const Token token = claim.record->token;
  lab_.leases.began(*claim.record, place_.lane, clock_);
  // Claimed and not yet sent: a node may die or hang here as anywhere.
  co_await lab_.time.pause(place_.lane, lab_.random.ms(0, 5));
  if (lab_.random.chance(40)) {
    lab_.leases.ended(token);
    lab_.tally.count("abandoned");
    co_await engine_.abandon(std::move(claim));
    co_return;
  }
  Execution& execution = lab_.upstream.start(claim, lab_.time.now());
  lab_.trace.line(lab_.time.now(), [&] {
    return fmt::format("{} k{} EXECUTES attempt {} token {} fate {} for {} ms", name_, request.key,
                       execution.attempt, token.hex().substr(0, 6),
                       static_cast<int>(execution.fate), execution.takes.count());
  });
  co_await lab_.time.pause(place_.lane, execution.takes);
  lab_.leases.ended(token);
  if (lab_.random.chance(20)) {
    lab_.tally.count("claim dropped");
    execution.dropped = true;
    co_return;
  }
  co_await finish(request, std::move(claim), execution);
}

awaitable<void> Node::finish(Request request, EngineClaim claim, Execution& execution) {
  const Outcome outcome = outcome_of(execution);
  if (outcome.kind == OutcomeKind::retry) execution.reported_harmless_at = lab_.time.now();
  const bool listens = execution.fate == Fate::silent && execution.late;
  const Finished first = co_await engine_.finish(
      claim, outcome, listens ? Engine::Listening::yes : Engine::Listening::no);
  answer_first(request, first, outcome);
  if (!listens) co_return;

  co_await lab_.time.pause(place_.lane, *execution.late);
  if (lab_.random.chance(300)) {
    engine_.stop_listening(claim);
    co_return;
  }
  Outcome late{OutcomeKind::final, execution.answer, "late answer"};
  late.answer.status = 200;
  const Finished second = co_await engine_.finish(std::move(claim), std::move(late));
  lab_.tally.count(std::holds_alternative<finish::Recorded>(second) ? "late answer recorded"
                                                                    : "late answer not recorded");
}

// Recorded: the client gets what the executor answered. Stale: what the record says. Pending:
// nothing that could be taken for an answer.
void Node::answer_first(const Request& request, const Finished& finished, const Outcome& outcome) {
  const auto* recorded = std::get_if<finish::Recorded>(&finished);
  const auto* stale = std::get_if<finish::Stale>(&finished);
  lab_.tally.count(recorded ? "finish recorded" : stale ? "finish stale" : "finish pending");
  lab_.trace.line(lab_.time.now(), [&] {
    return fmt::format("{} k{} finished: {}", name_, request.key,
                       recorded ? "recorded"
                       : stale  ? "stale"
                                : "pending");
  });
  if (request.async) return;  // nobody listens
  if (recorded) {
    const Record* record = recorded->record.get();
    const bool done = record && record->state == RecordState::completed;
    if (done || outcome.kind == OutcomeKind::final) {
      answered(request, record, outcome.answer, "first answer");
    }
  } else if (stale && stale->record && stale->record->state == RecordState::completed) {
    answered(request, stale->record.get(), stale->record->answer, "stale finisher");
  }
}

void Node::answered(const Request& request, const Record* record, const Answer& answer,
                    std::string how) {
  const RecordId id = lab_.id_of(request.key);
  lab_.trace.line(lab_.time.now(), [&] {
    return fmt::format("{} k{} answered ({}): {} \"{}\" from v{}", name_, request.key, how,
                       answer.status, answer.body, record ? record->version : 0);
  });
  lab_.answers.push_back(
      {id, record ? record->version : 0, answer, request.payload, std::move(how)});
}

awaitable<void> Node::resolve_key(int key, bool complete) {
  const OpenSession open(lab_.open_sessions);
  co_await lab_.time.pause(place_.lane, lab_.random.ms(0, 5));
  Resolution resolution;
  resolution.who = "operator";
  resolution.why = "seen in the books";
  if (complete) {
    resolution.answer = Answer{200, {}, fmt::format("by hand {}", lab_.answers.size()), {}};
  }
  const Resolved resolved = co_await engine_.resolve(lab_.id_of(key), std::move(resolution));
  if (const auto* done = std::get_if<resolve::Done>(&resolved)) {
    lab_.tally.count(complete ? "completed by hand" : "released by hand");
    lab_.trace.line(lab_.time.now(), [&] {
      return fmt::format("{} k{} resolved: {}", name_, key, to_string(done->record->state));
    });
  }
}

void Node::transitioned(const Record* before, const Record* after, Time) {
  if (!after) {
    lab_.tally.count("removed");
  } else if (after->state == RecordState::in_progress && before && before->token != after->token &&
             after->attempt > 1) {
    lab_.tally.count(before->state == RecordState::released ? "claimed again" : "taken over");
  } else if (!before || before->state != after->state) {
    lab_.tally.count(fmt::format("became {}", to_string(after->state)));
  }
}

void Node::lease_lost(const RecordId&) {
  lab_.tally.count("lease lost");
}

void Node::store_failed(std::string_view, std::string_view) {
  lab_.tally.count("store failed");
}

}  // namespace semel::sim
