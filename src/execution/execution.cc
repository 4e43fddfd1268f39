// The promise: the client is told of a final outcome only after it is durable. An answer that
// arrives after the client's patience is still recorded. A request that may have been taken is
// never sent again.
//
// If this process dies in here, the record stays in progress and is unknown at the next start.
#include "execution/execution.h"

#include <boost/asio/co_spawn.hpp>

#include "core/record_bytes.h"
#include "engine/spawn.h"
#include "execution/answer/circuit_open.h"
#include "execution/answer/reauthorize.h"
#include "execution/answer/replay.h"
#include "execution/answer/stream.h"
#include "execution/call_trace.h"
#include "execution/redelivery.h"
#include "execution/resource.h"

namespace semel::execution {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

constexpr auto kEarlyAnswerWait = std::chrono::seconds(1);

OutcomeKind classify(const config::RouteConfig& route, const EngineClaim& claim,
                     const http::Response& response) {
  return route.outcomes.classify(response.status(), claim.record->attempt,
                                 response.field("Idempotency-Outcome").value_or(""));
}

Outcome outcome_of(const config::RouteConfig& route, const EngineClaim& claim,
                   const http::Response& response, const std::vector<Header>& headers,
                   std::string body) {
  Outcome outcome;
  outcome.kind = classify(route, claim, response);
  outcome.answer.status = response.status();
  outcome.answer.headers = kept_headers(headers, route);
  if (outcome.kind == OutcomeKind::final && outcome.answer.status < 400) {
    outcome.resource_id = find_resource_id(route.resource, headers, body);
    if (!outcome.resource_id.empty()) outcome.resource_type = route.resource.type;
  }
  outcome.answer.body = std::move(body);
  outcome.reason = "status " + std::to_string(response.status());
  outcome.reason_code = ReasonCode::executor_status;
  return outcome;
}

bool counts_only_if_committed(const config::RouteConfig& route, const Outcome& outcome) {
  return route.completes == config::Completes::executor && outcome.kind == OutcomeKind::final &&
         outcome.answer.status < 400;
}

// Returns how many late answers may be awaited at once. Each holds a connection, so if the executor
// answers nobody in time their number would grow without end. Beyond the limit, the outcome stays
// unknown as if no answer had come.
std::size_t late_max(const config::LimitsConfig& limits) {
  constexpr std::size_t kAtLeast = 16;
  return std::max(kAtLeast, limits.in_flight / 4);
}

// Goes on listening for an answer whose client has been told 504. False: nothing came to be
// recorded.
awaitable<bool> record_late(runtime::Services& services, const config::RouteConfig& route,
                            const EngineClaim& claim, std::unique_ptr<UpstreamCall> call) {
  call->set_deadline(route.late_answer);
  auto received = co_await call->receive(route.max_stored_body);
  if (received != UpstreamCall::Received::complete && received != UpstreamCall::Received::stream) {
    co_return false;
  }
  const http::Response& response = call->response();
  Outcome outcome = outcome_of(route, claim, response, client_headers(response, route, true), {});
  outcome.reason += ", late";
  if (counts_only_if_committed(route, outcome)) co_return false;  // only its commit counts
  AnswerKeeper keeper(services.store, services.clock, route, *claim.record,
                      outcome.kind == OutcomeKind::final, response.body_length());
  const std::string begun = call->take_body();
  co_await keeper.keep(begun);
  while (received == UpstreamCall::Received::stream) {
    const auto piece = co_await call->next_piece();
    if (!piece) received = UpstreamCall::Received::broken;
    if (piece && piece->empty()) received = UpstreamCall::Received::complete;
    if (piece && !piece->empty()) co_await keeper.keep(*piece);
  }
  if (received != UpstreamCall::Received::complete || outcome.kind == OutcomeKind::unknown) {
    co_await keeper.discard();
    co_return false;
  }
  co_await keeper.finish(outcome.answer);
  plan_redelivery(route, *claim.record, outcome, services.clock.now());
  const Finished finished = co_await services.engine.finish(claim, std::move(outcome));
  if (std::holds_alternative<finish::Stale>(finished)) co_await keeper.discard();
  co_return true;
}

awaitable<void> listen_late(runtime::Services& services, const config::RouteConfig& route,
                            EngineClaim claim,
                            std::unique_ptr<UpstreamCall> call,  // holds the route
                            std::unique_ptr<runtime::Counted> /* for as long as it listens */) {
  bool recorded = false;
  try {
    recorded = co_await record_late(services, route, claim, std::move(call));
  } catch (const std::exception& error) {
    telemetry::log_event(config::LogLevel::error, "late answer lost", {{"why", error.what()}});
  }
  if (!recorded) services.engine.stop_listening(claim);
}

}  // namespace

Execution::Execution(runtime::Worker& worker, runtime::Route route, EngineClaim claim,
                     const KeyedRequest& request, AnswerSink answers)
    : worker_(worker),
      services_(worker.services()),
      route_(std::move(route)),
      config_(route_.config()),
      claim_(std::move(claim)),
      request_(request),
      key_(request.key.value_or(claim_.record->key)),
      in_progress_(route_.metrics().in_progress()),
      answers_(answers),
      call_(std::make_unique<UpstreamCall>(worker, route_, UpstreamCall::Ending::announced)) {}

void Execution::report_status() {
  if (runtime::is_service_failure(call_->response().status())) {
    report_failure();
  } else if (runtime::Circuit* circuit = route_.circuit()) {
    circuit->succeeded(request_.pass);
  }
}

void Execution::report_failure() {
  if (runtime::Circuit* circuit = route_.circuit()) {
    circuit->failed(request_.pass, worker_.deadlines().now());
  }
}

std::string Execution::head(const std::string& base_path) const {
  const Record& record = *claim_.record;
  KeyForwarding key = forward_key(config_, record.id, key_, request_.key_in_header);
  key.add.push_back({"Semel-Record", record.id.hex()});
  key.add.push_back({"Semel-Attempt", std::to_string(record.attempt)});
  if (config_.completes == config::Completes::executor) {
    key.add.push_back({"Semel-Token", record.token.hex()});
  }
  name_parent(upstream_part_, key);
  const PassedOn passed_on(request_.head.fields, route_.active()->config.tenant, config_);
  return upstream_head(request_.head, passed_on, base_path, {false, request_.body.size()}, key.drop,
                       key.add);
}

awaitable<void> Execution::run_to_end() {
  bool ended = false;
  try {
    co_await run();
    ended = true;
  } catch (const std::exception& error) {
    telemetry::log_event(config::LogLevel::error, "execution failed", {{"why", error.what()}});
  }
  if (ended) co_return;
  answers_.end_connection();
  co_await give_up();
}

void Execution::note_received(UpstreamCall::Received received) {
  const bool is_answered =
      received == UpstreamCall::Received::complete || received == UpstreamCall::Received::stream;
  note_answer(upstream_part_, call_->upstream(), is_answered ? call_->response().status() : 0);
}

awaitable<void> Execution::run() {
  const SteadyTime started = services_.clock.steady();
  upstream_part_ = {request_.trace, request_.head.method, telemetry::SpanKind::client};
  UpstreamCall::MakeHead make_head = [this](const std::string& base_path) {
    return head(base_path);
  };
  const auto sent = co_await call_->send(std::move(make_head), request_.body);
  if (const auto* not_delivered = std::get_if<UpstreamCall::NotDelivered>(&sent)) {
    upstream_part_.set("error.type", not_delivered->why);
    upstream_part_.set_failed();
    upstream_part_.end();
    co_await unreachable(not_delivered->why);
    co_return;
  }
  if (const auto* maybe = std::get_if<UpstreamCall::MaybeDelivered>(&sent)) {
    // An executor may refuse a request before it has read all of it, and close.
    call_->set_deadline(kEarlyAnswerWait);
    const auto early = co_await call_->receive(config_.max_stored_body);
    note_received(early);
    if (early == UpstreamCall::Received::complete) {
      co_await answered();
      co_return;
    }
    if (call_->was_refused()) {
      co_await unreachable("our certificate was not accepted");
      co_return;
    }
    if (maybe->cause == UpstreamCall::MaybeDelivered::Cause::timeout) {
      co_await failed(OutcomeKind::unknown, core::Code::upstream_timeout, maybe->why,
                      "The service did not take the whole request in time and may still take "
                      "effect. Retry with the same key only.");
      co_return;
    }
    co_await failed(OutcomeKind::unknown, core::Code::upstream_unreachable, maybe->why,
                    "The connection to the service broke, so it may have taken effect. Retry with "
                    "the same key only.");
    co_return;
  }
  const auto received = co_await call_->receive(config_.max_stored_body);
  note_received(received);
  route_.metrics().upstream_took(
      std::chrono::duration<double>(services_.clock.steady() - started).count(),
      request_.trace ? request_.trace->trace_id() : std::string());
  switch (received) {
    case UpstreamCall::Received::complete:
      co_await answered();
      break;
    case UpstreamCall::Received::stream:
      co_await stream();
      break;
    case UpstreamCall::Received::timeout:
      co_await timed_out();
      break;
    case UpstreamCall::Received::broken:
      if (call_->was_refused()) {
        co_await unreachable("our certificate was not accepted");
        break;
      }
      co_await failed(OutcomeKind::unknown, core::Code::upstream_unreachable,
                      "the answer was cut off",
                      "The service ended the connection without a whole answer, so it may have "
                      "taken effect. Retry with the same key only.");
      break;
  }
}

awaitable<void> Execution::unreachable(std::string why) {
  telemetry::log_event(config::LogLevel::warn, "upstream unreachable",
                       {{"route", config_.name}, {"why", why}});
  co_await failed(OutcomeKind::retry, core::Code::upstream_unreachable, std::move(why),
                  "The service could not be reached, so nothing was executed. Retry with the same "
                  "key.");
}

awaitable<Finished> Execution::finish(Outcome outcome, Engine::Listening listening) {
  const telemetry::Trace::Part part(request_.trace, "complete");
  plan_redelivery(config_, *claim_.record, outcome, services_.clock.now());
  co_return co_await services_.engine.finish(claim_, std::move(outcome), listening);
}

awaitable<void> Execution::give_up() {
  const core::Problem problem =
      outcome_unknown(config_, claim_.record.get(), services_.clock.now());
  Outcome outcome{OutcomeKind::unknown, core::to_answer(problem, config_.errors),
                  "an error in the gateway"};
  co_await finish(std::move(outcome));
}

awaitable<void> Execution::answered() {
  report_status();
  const http::Response& response = call_->response();
  Answer answer;  // as this client gets it: with all end-to-end headers
  answer.status = response.status();
  answer.headers = client_headers(response, config_, true);
  answer.body = call_->take_body();
  Outcome outcome = outcome_of(config_, claim_, response, answer.headers, answer.body);
  call_->give_back();
  if (counts_only_if_committed(config_, outcome)) {
    co_await as_committed(outcome.answer.status);
    co_return;
  }
  Finished finished = co_await finish(std::move(outcome));
  if (const auto* recorded = std::get_if<finish::Recorded>(&finished)) {
    co_await answers_.send_answer(answer,
                                  recorded->record ? echo(key_, *recorded->record) : echo(key_));
  } else {
    co_await send_unrecorded(finished);
  }
}

// Tries to record "unknown". If the executor has committed the record, that attempt fails and
// returns what was committed.
awaitable<void> Execution::as_committed(int status) {
  co_await failed(OutcomeKind::unknown, core::Code::outcome_unknown,
                  "status " + std::to_string(status) + " without a committed record",
                  "The service answered without committing its work. Retry with the same key only.",
                  Engine::Listening::no, ReasonCode::executor_status);
}

awaitable<void> Execution::read_to_end() {
  for (;;) {
    const auto piece = co_await call_->next_piece();
    if (!piece) co_return;
    if (piece->empty()) break;
  }
  call_->give_back();
}

awaitable<void> Execution::timed_out() {
  EngineClaim claim = claim_;
  std::unique_ptr<UpstreamCall> call = std::move(call_);
  auto late = std::make_unique<runtime::Counted>(services_.late);
  const bool listens = config_.late_answer > Duration{0} &&
                       config_.operation.unknown != UnknownPolicy::fail &&
                       late->before() < late_max(route_.active()->config.limits);
  co_await failed(OutcomeKind::unknown, core::Code::upstream_timeout,
                  "no answer within upstream_timeout",
                  "The service did not answer in time and may still take effect. Retry with the "
                  "same key only.",
                  listens ? Engine::Listening::yes : Engine::Listening::no);
  if (listens) {
    asio::co_spawn(
        worker_.context(),
        listen_late(services_, config_, std::move(claim), std::move(call), std::move(late)),
        engine::OrReport{"listening for a late answer"});
  }
}

awaitable<void> Execution::stream() {
  report_status();
  const http::Response& response = call_->response();
  const std::vector<Header> headers = client_headers(response, config_, true);
  Outcome outcome = outcome_of(config_, claim_, response, headers, {});
  if (counts_only_if_committed(config_, outcome)) {
    co_await read_to_end();
    co_await as_committed(outcome.answer.status);
    co_return;
  }
  const bool begun = co_await services_.engine.begin_stream(claim_, response.status());
  const bool is_stored =
      outcome.kind == OutcomeKind::final ||
      (outcome.kind == OutcomeKind::unknown && config_.operation.unknown == UnknownPolicy::fail);
  AnswerKeeper keeper(services_.store, services_.clock, config_, *claim_.record, is_stored,
                      response.body_length());
  AnswerStream answer_stream(services_, config_, *call_, begun ? answers_ : AnswerSink::nobody(),
                             &keeper);
  const AnswerStream::End end = co_await answer_stream.run(headers, echo(key_));
  if (end == AnswerStream::End::cut) {
    co_await keeper.discard();
    // Never pass off a part as the whole: those who waited for the answer are told that it broke.
    const core::Problem problem{
        .code = core::Code::upstream_unreachable,
        .detail =
            "The service's answer was cut off, so it may have taken effect. "
            "Retry with the same key only.",
        .record = core::shown_id(claim_.record->id)};
    Outcome cut{OutcomeKind::unknown, core::to_answer(problem, config_.errors),
                "the answer was cut off"};
    co_await finish(std::move(cut));
    answers_.cut_off();
    co_return;
  }
  call_->give_back();
  co_await keeper.finish(outcome.answer);
  Finished finished = co_await finish(std::move(outcome));
  if (std::holds_alternative<finish::Stale>(finished)) co_await keeper.discard();
  if (!begun) {
    if (const auto* recorded = std::get_if<finish::Recorded>(&finished)) {
      co_await answers_.send_record(route_, key_, recorded->record);
    } else {
      co_await send_unrecorded(finished);
    }
    co_return;
  }
  // The end of the stream tells the client that all of it is recorded.
  if (std::holds_alternative<finish::Recorded>(finished)) {
    co_await answer_stream.finish();
  } else {
    answers_.cut_off();
  }
}

awaitable<void> Execution::failed(OutcomeKind kind, core::Code code, std::string reason,
                                  std::string detail, Engine::Listening listening,
                                  ReasonCode reason_code) {
  if (code != core::Code::outcome_unknown) report_failure();
  core::Problem problem{.code = code,
                        .detail = std::move(detail),
                        .new_key_safe = kind == OutcomeKind::retry,
                        .record = core::shown_id(claim_.record->id)};
  Outcome outcome{kind, core::to_answer(problem, config_.errors), std::move(reason), reason_code};
  Finished finished = co_await finish(std::move(outcome), listening);
  if (std::holds_alternative<finish::Recorded>(finished)) {
    co_await answers_.send_problem(problem, config_, key_);
  } else {
    co_await send_unrecorded(finished);
  }
}

awaitable<void> Execution::send_unrecorded(const Finished& finished) {
  ClientRequest* client = answers_.client();
  if (!client) co_return;
  if (const auto* stale = std::get_if<finish::Stale>(&finished)) {
    const bool is_own = stale->record && stale->record->state == RecordState::completed &&
                        stale->record->token == claim_.record->token;
    if (is_own) {
      co_await answers_.send_committed(config_, key_, *stale->record);
      co_return;
    }
    // This is another delivery's answer, not that of the client's own execution.
    Viewing viewing{claim_.record->id, claim_.record->tenant};
    if (stale->record && !co_await may_see(*client, route_, std::move(viewing))) co_return;
    co_await answers_.send_record(route_, key_, stale->record);
    co_return;
  }
  core::Problem problem{.code = core::Code::store_unavailable,
                        .detail =
                            "The request was executed, but its outcome could not be recorded yet. "
                            "Retry with the same key only.",
                        .record = core::shown_id(claim_.record->id)};
  co_await answers_.send_problem(problem, config_, key_);
}

awaitable<void> execute_unkeyed(const UnkeyedRequest& unkeyed, std::vector<Header> extra) {
  ClientRequest& request = unkeyed.request;
  const config::RouteConfig& route = unkeyed.route.config();
  const auto pass = co_await pass_circuit(request, unkeyed.route, !unkeyed.has_key, extra);
  if (!pass) co_return;
  UpstreamCall call(request.worker, unkeyed.route, UpstreamCall::Ending::any);
  const RequestHead client_head = request.head();
  const PassedOn passed_on(client_head.fields, request.settings->config.tenant, route);
  telemetry::Trace::Part part(&request.trace, client_head.method, telemetry::SpanKind::client);
  KeyForwarding forwarding = unkeyed.key;
  name_parent(part, forwarding);
  UpstreamCall::MakeHead make_head = [&](const std::string& base_path) {
    return upstream_head(client_head, passed_on, base_path, {false, unkeyed.body.size()},
                         forwarding.drop, forwarding.add);
  };
  const auto sent = co_await call.send(std::move(make_head), unkeyed.body);
  auto received = UpstreamCall::Received::broken;
  if (std::holds_alternative<UpstreamCall::Sent>(sent)) {
    received = co_await call.receive(route.max_stored_body);
  }
  const bool is_answered =
      received == UpstreamCall::Received::complete || received == UpstreamCall::Received::stream;
  report_to_circuit(request, unkeyed.route, *pass, is_answered ? call.response().status() : 0);
  note_answer(part, call.upstream(), is_answered ? call.response().status() : 0);
  if (received == UpstreamCall::Received::complete) {
    count_result(request, unkeyed.route, telemetry::RequestResult::passed);
    Answer answer{call.response().status(), client_headers(call.response(), route, false),
                  call.take_body()};
    call.give_back();
    co_await send_answer(request, answer, extra);
    co_return;
  }
  if (received == UpstreamCall::Received::stream) {
    count_result(request, unkeyed.route, telemetry::RequestResult::passed);
    AnswerStream stream(request.services(), route, call, AnswerSink(request), nullptr);
    const auto end = co_await stream.run(client_headers(call.response(), route, false), extra);
    if (end == AnswerStream::End::whole) {
      call.give_back();
      co_await stream.finish();
    } else {
      cut_off(request);
    }
    co_return;
  }
  count_result(request, unkeyed.route, telemetry::RequestResult::failed);
  const bool late = received == UpstreamCall::Received::timeout;
  core::Problem problem{
      .code = late ? core::Code::upstream_timeout : core::Code::upstream_unreachable,
      .detail = "The service did not answer."};
  co_await send_problem(request, problem, &route, extra);
}

}  // namespace semel::execution
