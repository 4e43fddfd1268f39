// Answers a keyed request, once the engine has said what it is.
#include <algorithm>

#include "base/overloaded.h"
#include "execution/answer/circuit_open.h"
#include "execution/answer/limit_problem.h"
#include "execution/answer/reauthorize.h"
#include "execution/answer/replay.h"
#include "execution/prober.h"
#include "gateway/keyed/exchange_impl.h"
#include "gateway/keyed/status_resource.h"
#include "gateway/keyed/webhook_delivery.h"
#include "runtime/waits.h"

namespace semel::gateway {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

constexpr std::size_t kWeakKeyBytes = 16;

// Returns the record that was decided by; null: none was seen.
const Record* record_of(const Admission& admission) {
  return std::visit(base::Overloaded{
                        [](const admission::Execute& found) { return found.claim.record.get(); },
                        [](const admission::NoRoom&) -> const Record* { return nullptr; },
                        [](const StoreUnavailable&) -> const Record* { return nullptr; },
                        [](const admission::Expired&) -> const Record* { return nullptr; },
                        [](const auto& found) -> const Record* { return found.record.get(); },
                    },
                    admission);
}

}  // namespace

awaitable<void> Exchange::no_room() {
  if (only_waits_) {
    count(telemetry::RequestResult::conflict);
    co_await send_about_key(execution::ended_without_answer(config_));
    co_return;
  }
  if (refused_by_circuit_) {
    count(telemetry::RequestResult::refused);
    co_await send_about_key(execution::circuit_open_problem(refused_by_circuit_->retry_after,
                                                            refused_by_circuit_->is_new));
    co_return;
  }
  route_.metrics().limited(static_cast<std::size_t>(limited_.exceeded) - 1);
  count(telemetry::RequestResult::refused);
  core::Problem problem = execution::limit_problem(limited_.exceeded);
  problem.retry_after = limited_.retry_after;
  co_await send_about_key(std::move(problem));
}

// A provider that got its 202 gets it again, whatever the upstream said. If the event was done too
// long ago, the provider is told that all is well: some take 410 for a farewell, and stop sending.
std::optional<telemetry::RequestResult> Exchange::acknowledged_as(
    const Admission& admission) const {
  if (!config_.webhook) return std::nullopt;
  if (std::holds_alternative<admission::Expired>(admission) ||
      std::holds_alternative<admission::VersionChanged>(admission)) {
    return telemetry::RequestResult::expired;
  }
  if (config_.webhook->mode != config::WebhookMode::queue) return std::nullopt;
  if (std::holds_alternative<admission::Replay>(admission))
    return telemetry::RequestResult::replayed;
  // Only if the record is durable and has the event in it: another delivery's may not be committed
  // yet.
  const auto* busy = std::get_if<admission::Busy>(&admission);
  if (busy && !busy->record->request.empty()) return telemetry::RequestResult::accepted;
  if (std::holds_alternative<admission::OutcomeUnknown>(admission))
    return telemetry::RequestResult::unknown;
  return std::nullopt;
}

awaitable<void> Exchange::answer(Admission admission) {
  if (const Record* record = record_of(admission)) note(*record);
  if (const auto known_as = acknowledged_as(admission)) {
    count(*known_as);
    co_await acknowledge(request_, config_, *key_, true);
    co_return;
  }
  co_await std::visit(
      base::Overloaded{
          [this](admission::Execute& execute) { return run_claim(std::move(execute.claim)); },
          [this](admission::Queued& found) { return queued(std::move(found)); },
          [this](admission::Replay& found) { return replay(*found.record); },
          [this](admission::Busy& found) { return busy(std::move(found)); },
          [this](admission::Mismatch& found) { return mismatch(std::move(found)); },
          [this](admission::OutcomeUnknown& found) {
            return outcome_unknown_of(std::move(found.record));
          },
          [this](admission::NoRoom&) { return no_room(); },
          // Only those who choose their token get this.
          [this](admission::TokenUsed& found) { return busy({std::move(found.record)}); },
          [this](StoreUnavailable& found) { return store_down(std::move(found)); },
          [this](admission::Expired&) { return expired(nullptr); },
          [this](admission::VersionChanged& found) { return expired(found.record.get()); },
      },
      admission);
}

awaitable<void> Exchange::mismatch(admission::Mismatch found) {
  count(telemetry::RequestResult::mismatch);
  core::Problem problem{.code = core::Code::key_reused,
                        .status = config_.status_mismatch,
                        .detail =
                            "This key was used for a different request. Use a new key for a new "
                            "operation, and the same request for a retry.",
                        .new_key_safe = true,
                        .differs = std::move(found.differs)};
  name_resource(problem, *found.record);
  co_await send_about_key(std::move(problem));
}

awaitable<void> Exchange::expired(const Record* other_version) {
  count(telemetry::RequestResult::expired);
  core::Problem problem{
      .code = core::Code::key_expired,
      .detail = other_version ? "The operation was done, but its answer was recorded in an older "
                                "form and can no longer be given."
                              : "The operation with this key was done too long ago for its "
                                "answer to be given again."};
  if (other_version) name_resource(problem, *other_version);
  co_await send_about_key(std::move(problem));
}

telemetry::Trace::Part Exchange::part_about(std::string_view name, const Record& record) {
  telemetry::Trace::Part part(&request_.trace, name);
  part.link_to(record.trace);
  request_.trace.link_to(record.trace);
  return part;
}

awaitable<void> Exchange::replay(const Record& record) {
  note(record);
  if (config_.reauthorize) {
    execution::Viewing viewing{record.id, tenant_};
    if (!co_await execution::may_see(request_, route_, std::move(viewing))) co_return;
  }
  count(telemetry::RequestResult::replayed);
  const auto part = part_about("replay", record);
  co_await execution::send_replay(request_, config_, *key_, record);
}

// Names what the execution made where the answer itself is not given: the client may look at that.
// Not on a route where another service says who may see the answer.
void Exchange::name_resource(core::Problem& problem, const Record& record) const {
  if (config_.reauthorize) return;
  problem.resource_type = record.resource_type;
  problem.resource_id = record.resource_id;
}

awaitable<void> Exchange::run_claim(EngineClaim claim) {
  if (claim.record->attempt == 1 && key_->size() < kWeakKeyBytes) {
    route_.metrics().weak_key();
  }
  count(telemetry::RequestResult::executed);
  if (route_.circuit() && !pass_.is_trial) pass_ = route_.circuit()->while_closed();
  const execution::KeyedRequest keyed{request_.head(), *body_, key_in_header_,
                                      *key_,           pass_,  &request_.trace};
  execution::Execution execution(request_.worker, route_, std::move(claim), keyed,
                                 execution::AnswerSink(request_));
  co_await execution.run_to_end();
}

// The record keeps the request, so it will be executed whatever becomes of this process.
awaitable<void> Exchange::queued(admission::Queued queued) {
  count(telemetry::RequestResult::accepted);
  const Record& record = *queued.record;
  services_.background->add({record.id, record.token, record.tenant, record.operation},
                            std::move(*slot_));
  if (config_.webhook) {
    co_await acknowledge(request_, config_, *key_, false);
    co_return;
  }
  co_await send_accepted(request_, route_, *key_, tenant_, *queued.record, true);
}

awaitable<void> Exchange::outcome_unknown_of(RecordPtr record) {
  if (config_.operation.unknown == UnknownPolicy::probe && !probed_) {
    probed_ = true;  // once per request: its answer may be about an attempt of our own
    if (co_await services_.prober->ask(request_.worker, route_, record, *key_)) {
      Admission again = co_await admit();
      co_await answer(std::move(again));
      co_return;
    }
  }
  count(telemetry::RequestResult::unknown);
  const Time now = services_.clock.now();
  core::Problem problem = execution::outcome_unknown(config_, record.get(), now);
  if (config_.operation.unknown == UnknownPolicy::probe && !config_.retry_after.unknown) {
    problem.retry_after = services_.prober->next_ask_in(record->id, now);
  }
  co_await send_about_key(std::move(problem));
}

// This very request is being executed already. One deadline covers all the looks at it.
awaitable<void> Exchange::busy(admission::Busy found) {
  const auto now = request_.worker.deadlines().now();
  if (!wait_until_) wait_until_ = now + config_.wait_timeout;
  if (config_.in_progress == config::InProgress::wait && now < *wait_until_) {
    request_.give_up_slot();  // it only waits
    const auto left = std::chrono::duration_cast<Duration>(*wait_until_ - now);
    auto part = part_about("wait", *found.record);
    Waited waited = co_await services_.engine.wait(found.record->id, found.record->token, left);
    part.end();
    if (auto* settled = std::get_if<std::shared_ptr<const Settled>>(&waited)) {
      execution::Viewing viewing{found.record->id, tenant_};
      if (!co_await execution::may_see(request_, route_, std::move(viewing))) co_return;
      count(telemetry::RequestResult::waited);
      co_await execution::send_settled(request_, config_, *key_, **settled);
      co_return;
    }
    if (std::holds_alternative<waited::LookAgain>(waited)) {
      Admission again = co_await admit();
      if (auto* elsewhere = std::get_if<admission::Busy>(&again)) {
        const auto still_left =
            std::chrono::duration_cast<Duration>(*wait_until_ - request_.worker.deadlines().now());
        const auto elsewhere_part = part_about("wait", *elsewhere->record);
        co_await runtime::wait_elsewhere(services_, elsewhere->record->id, elsewhere->record->token,
                                         std::max(still_left, Duration{0}));
        only_waits_ = true;
        again = co_await admit();
      }
      co_await answer(std::move(again));
      co_return;
    }
  }
  // A record made before the route was set to accept has no handle.
  if (config_.in_progress == config::InProgress::accept && found.record->handle != Token{}) {
    count(telemetry::RequestResult::accepted);
    co_await send_accepted(request_, route_, *key_, tenant_, *found.record,
                           preferences_.respond_async);
    co_return;
  }
  count(telemetry::RequestResult::conflict);
  co_await send_about_key(
      execution::in_progress_problem(route_, *found.record, services_.clock.now()));
}

awaitable<void> Exchange::store_down(StoreUnavailable unavailable) {
  telemetry::log_repeating(config::LogLevel::warn, "store unavailable", config_.name,
                           {{"route", config_.name}, {"why", unavailable.why}});
  if (slot_) {
    // The write may still land; executing the request now, without a record, could be the second
    // time.
    co_await refuse(
        {.code = core::Code::store_unavailable,
         .detail =
             "It is not known whether the request was accepted. Retry with the same key only."});
    co_return;
  }
  // A request must not be executed again if its record is there but cannot be read.
  if (config_.store_down == config::StoreDown::pass && !unavailable.unreadable) {
    decision_.result = telemetry::RequestResult::passed;
    const RecordId id = make_id(scope(), *key_);
    const execution::UnkeyedRequest unkeyed{
        request_, route_, *body_, execution::forward_key(config_, id, *key_, key_in_header_), true};
    co_await execution::execute_unkeyed(unkeyed, {{"Idempotency-Degraded", "true"}});
    co_return;
  }
  co_await refuse({.code = core::Code::store_unavailable,
                   .detail = unavailable.unreadable
                                 ? "The record of this key cannot be read at the moment. Nothing "
                                   "was executed. Retry with the same key."
                                 : "Nothing was executed. Retry with the same key."});
}

}  // namespace semel::gateway
