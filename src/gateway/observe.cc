#include "gateway/observe.h"

#include <boost/asio/co_spawn.hpp>
#include <stdexcept>

#include "base/overloaded.h"
#include "core/record_bytes.h"
#include "engine/spawn.h"
#include "execution/call.h"
#include "execution/operation_name.h"
#include "gateway/keyed/request_key.h"
#include "gateway/proxy.h"
#include "gateway/tenant/caller.h"

namespace semel::gateway {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

// Keeps observed records apart from enforced ones: when the route is switched to enforce, an answer
// that was never meant to be replayed is not replayed.
constexpr std::string_view kObservedPrefix = "\tobserved\t";

telemetry::Observed in_flight(const config::RouteConfig& route) {
  switch (route.in_progress) {
    case config::InProgress::conflict:
      return telemetry::Observed::conflict;
    case config::InProgress::wait:
      return telemetry::Observed::waited;
    case config::InProgress::accept:
      return telemetry::Observed::accepted;
  }
  return telemetry::Observed::conflict;
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

}  // namespace

Observation::Observation(const execution::ClientRequest& request, const runtime::Route& route)
    : worker_(request.worker),
      services_(request.services()),
      settings_(request.settings),
      route_(route.config()),
      metrics_(route.metrics()),
      target_(request.target),
      method_(request.message.method()),
      held_bytes_(services_.buffered_bytes, nullptr) {
  // The observation may outlive the connection.
  if (request.peer) held_bytes_.belong_to(request.peer->shared_from_this());
  for (const http::Field& field : request.message.fields()) {
    headers_.push_back({std::string(field.name), std::string(field.value)});
  }
  find_key_and_tenant(request);
}

Observation::~Observation() {
  if (entered_) services_.observed.leave(*entered_);
}

void Observation::find_key_and_tenant(const execution::ClientRequest& request) {
  FoundKey found = key_from_headers(route_.key, request.message);
  if (auto* bad = std::get_if<found_key::Bad>(&found)) {
    decided_ = telemetry::Observed::key_invalid;
    why_ = std::move(bad->why);
    return;
  }
  if (auto* key = std::get_if<found_key::Key>(&found)) key_ = std::move(key->key);
  if (!key_ && route_.key.from == config::KeySource::header) {
    decided_ = telemetry::Observed::key_missing;
    return;
  }
  std::optional<Caller> caller = find_caller(request);
  if (!caller) {
    credential_ = credential_of(request.message);
    if (!credential_) decided_ = telemetry::Observed::tenant_unknown;
  } else if (*caller) {
    tenant_ = std::move(**caller);
  } else {
    decided_ = telemetry::Observed::tenant_unknown;
    why_ = std::move(caller->error().detail);
  }
}

void Observation::request_piece(std::string_view piece) noexcept {
  try {
    keep(piece);
  } catch (const std::exception&) {
    decided_ = telemetry::Observed::unseen;
  }
}

void Observation::request_done() noexcept {
  try {
    request_whole_ = true;
    if (!decided_) compare();
  } catch (const std::exception&) {
    decided_ = telemetry::Observed::unseen;
  }
}

void Observation::keep(std::string_view piece) {
  if (decided_) return;
  const bool has_room =
      held_bytes_.recount(body_.size() + piece.size(), runtime::kBufferedBytesMax);
  if (body_.size() + piece.size() > route_.max_request_body) {
    decided_ = telemetry::Observed::too_large;
  } else if (!has_room) {
    decided_ = telemetry::Observed::unseen;
    why_ = "too many request bodies are being held";
  } else {
    body_ += piece;
    return;
  }
  body_ = {};
  held_bytes_.recount(0, runtime::kBufferedBytesMax);
}

void Observation::compare() {
  recipe_ = execution::recipe_of(route_.fingerprint, settings_->key_material.hash_keys,
                                 content_type(), false);
  fingerprint_ = print_under(recipe_);
  find_key_in_body();
  if (decided_ || credential_) return;
  const Call asked = call();
  const RecordId id = make_id(asked.scope, asked.key);
  entered_ = id;
  switch (services_.observed.enter(id, fingerprint_.digest)) {
    case telemetry::ObservedInFlight::Entered::first:
      break;
    case telemetry::ObservedInFlight::Entered::duplicate:
      decided_ = in_flight(route_);
      break;
    case telemetry::ObservedInFlight::Entered::mismatch:
      decided_ = telemetry::Observed::mismatch;
      break;
  }
}

void Observation::find_key_in_body() {
  if (key_) return;
  if (route_.key.from == config::KeySource::fingerprint) {
    key_ = RecordId{fingerprint_.digest}.hex();
    return;
  }
  FoundKey found = key_from_body(route_.key, joined_field("Content-Encoding").value_or(""), body_);
  if (auto* key = std::get_if<found_key::Key>(&found)) {
    key_ = std::move(key->key);
  } else if (auto* bad = std::get_if<found_key::Bad>(&found)) {
    decided_ = telemetry::Observed::key_invalid;
    why_ = std::move(bad->why);
  } else {
    decided_ = route_.key.required ? telemetry::Observed::key_missing : telemetry::Observed::passed;
  }
}

std::string_view Observation::content_type() const {
  for (const Header& header : headers_) {
    if (http::iequals(header.name, "Content-Type")) return header.value;
  }
  return {};
}

std::optional<std::string> Observation::joined_field(std::string_view name) const {
  std::optional<std::string> value;
  for (const Header& header : headers_) {
    if (!http::iequals(header.name, name)) continue;
    value = value ? *value + ", " + header.value : header.value;
  }
  return value;
}

RequestView Observation::view() const {
  return {method_,       target_.path,
          target_.query, content_type(),
          body_,         [this](std::string_view name) { return joined_field(name); }};
}

Fingerprint Observation::print_under(const Recipe& recipe) const {
  return execution::fingerprint_under_key(make_fingerprint(recipe, view()), recipe,
                                          settings_->key_material.hash_keys);
}

awaitable<Fingerprint> Observation::fingerprint_under(Recipe recipe) const {
  co_return print_under(recipe);
}

Call Observation::call() const {
  Scope scope{
      settings_->config.name_space, tenant_,
      std::string(kObservedPrefix) + execution::operation_name(route_, route_.name, target_)};
  Call call = execution::make_call(*settings_, route_, std::move(scope), *key_);
  // Nobody has to resolve what a crash leaves behind.
  call.operation.unknown = UnknownPolicy::retry;
  call.recipe = recipe_;
  call.fingerprint = fingerprint_;
  call.fingerprint_under = [this](Recipe recipe) { return fingerprint_under(std::move(recipe)); };
  return call;
}

void Observation::answered(const http::Response& response) {
  status_ = response.status();
  said_ = response.field("Idempotency-Outcome").value_or("");
}

void Observation::conclude(std::shared_ptr<Observation> observation) {
  if (!observation->request_whole_ && !observation->decided_) {
    observation->decided_ = telemetry::Observed::unseen;
    observation->why_ = "the request arrived incomplete";
  }
  if (observation->decided_) {
    observation->report(*observation->decided_, observation->why_);
    return;
  }
  auto run = [](std::shared_ptr<Observation> self) -> awaitable<void> {
    try {
      co_await self->record();
    } catch (const std::exception& error) {
      telemetry::log_event(config::LogLevel::error, "observation failed", {{"why", error.what()}});
    }
  };
  asio::co_spawn(observation->worker_.context(), run(observation), engine::OrReport{"observing"});
}

awaitable<Admission> Observation::admit() const {
  try {
    co_return co_await services_.engine.admit(call());
  } catch (const std::runtime_error& error) {
    // The record's hash key is missing: on an enforcing route, the request would get 503.
    co_return StoreUnavailable{.why = error.what(), .unreadable = true};
  }
}

awaitable<void> Observation::record() {
  if (credential_) {
    Introspected found = co_await introspect(worker_, settings_, *std::move(credential_));
    auto* tenant = std::get_if<introspected::Tenant>(&found);
    if (!tenant) {
      report(telemetry::Observed::tenant_unknown);
      co_return;
    }
    tenant_ = std::move(tenant->name);
  }
  Admission admission = co_await admit();
  std::string detail;
  const telemetry::Observed result = would(admission, detail);
  report(result, detail);
  if (auto* execute = std::get_if<admission::Execute>(&admission)) {
    Outcome ended = outcome(execute->claim.record->attempt);
    co_await services_.engine.finish(std::move(execute->claim), std::move(ended));
  }
}

// Keeps only the status: nobody is going to be given this answer again.
Outcome Observation::outcome(std::uint32_t attempt) const {
  Outcome outcome;
  outcome.kind = OutcomeKind::unknown;
  if (answer_whole_) {
    outcome.kind = route_.outcomes.classify(status_, attempt, said_);
    outcome.answer.status = status_;
    outcome.answer.body_note = BodyNote::omitted;
    outcome.reason = "status " + std::to_string(status_);
    outcome.reason_code = ReasonCode::executor_status;
  } else if (not_delivered_) {
    outcome.kind = OutcomeKind::retry;
    outcome.reason = "not delivered";
  }
  if (outcome.kind == OutcomeKind::unknown) {
    // The state does not become unknown, since nobody has to resolve a request that was only
    // observed.
    outcome.kind = OutcomeKind::final;
    outcome.reason = "observed: no answer";
    outcome.reason_code = ReasonCode::observed_unknown;
    outcome.answer.status = status_ ? status_ : 502;
  }
  return outcome;
}

telemetry::Observed Observation::would(const Admission& admission, std::string& detail) const {
  const auto replayed = [this](const admission::Replay& replay) {
    if (replay.record->reason_code != ReasonCode::observed_unknown ||
        route_.operation.unknown == UnknownPolicy::fail) {
      return telemetry::Observed::replayed;
    }
    return route_.operation.unknown == UnknownPolicy::retry ? telemetry::Observed::executed
                                                            : telemetry::Observed::unknown;
  };
  const auto differs = [&detail](const admission::Mismatch& mismatch) {
    detail = "differs in " + joined(mismatch.differs);
    return telemetry::Observed::mismatch;
  };
  const auto store_down = [this, &detail](const StoreUnavailable& unavailable) {
    detail = unavailable.why;
    return route_.store_down == config::StoreDown::pass ? telemetry::Observed::passed
                                                        : telemetry::Observed::store_unavailable;
  };
  return std::visit(
      base::Overloaded{
          replayed, differs, store_down,
          [](const admission::Execute&) { return telemetry::Observed::executed; },
          [](const admission::Queued&) { return telemetry::Observed::accepted; },
          [this](const admission::Busy&) { return in_flight(route_); },
          [](const admission::OutcomeUnknown&) { return telemetry::Observed::unknown; },
          [](const admission::Expired&) { return telemetry::Observed::expired; },
          [](const admission::VersionChanged&) { return telemetry::Observed::expired; },
          [](const admission::NoRoom&) {
            return telemetry::Observed::unseen;
          },  // it never asks for room
          [](const admission::TokenUsed&) {
            return telemetry::Observed::unseen;
          },  // it chooses no token
      },
      admission);
}

void Observation::report(telemetry::Observed would, std::string_view detail) {
  metrics_.observed(would);
  // A request that would have been treated the same is not worth a line.
  const bool same = would == telemetry::Observed::executed || would == telemetry::Observed::passed;
  const config::LogLevel level = same ? config::LogLevel::debug : config::LogLevel::info;
  if (!telemetry::logs(level)) return;
  std::string record;
  if (entered_) record = core::shown_id(*entered_);
  telemetry::log_event(level, "observed",
                       {{"route", route_.name},
                        {"would", telemetry::to_string(would)},
                        {"record", record},
                        {"answered", status_ ? std::to_string(status_) : std::string()},
                        {"why", detail}});
}

awaitable<void> observe(execution::ClientRequest& request, const runtime::Route& route) {
  std::shared_ptr<Observation> observation;
  try {
    observation = std::make_shared<Observation>(request, route);
  } catch (const std::exception& error) {
    telemetry::log_event(config::LogLevel::error, "observation failed", {{"why", error.what()}});
  }
  const bool was_asked = co_await proxy(request, route, observation.get());
  if (observation && was_asked) Observation::conclude(std::move(observation));
}

}  // namespace semel::gateway
