// Claims a key for a client. The promise: a client that is told 201 holds a durable claim that
// nobody else holds, and a client that asks again with its token is told the same.
#include "service/claiming.h"

#include <algorithm>
#include <stdexcept>

#include "base/overloaded.h"
#include "execution/answer/limit_problem.h"
#include "execution/answer/replay.h"
#include "execution/call.h"
#include "execution/description.h"
#include "runtime/waits.h"
#include "service/replies.h"

namespace semel::service {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

using std::chrono::seconds;

// Claims of all clients that wait at once. A client alone gets at most three quarters of them.
constexpr std::size_t kWaitingMax = 512;
// How often a waiting claim looks whether its client is still there.
constexpr Duration kWaitSlice = seconds(1);
constexpr seconds kBusyRetry{1};
constexpr seconds kUnknownRetry{60};

std::atomic<std::size_t>& all_waiting() {
  static std::atomic<std::size_t> waiting = 0;
  return waiting;
}

Answer busy_answer(const Record& record) {
  return problem({.code = core::Code::in_progress,
                  .detail = "The operation with this key is being executed. Ask again with the "
                            "same key, or wait for it with \"wait\".",
                  .record = record.id.hex()},
                 kBusyRetry);
}

Answer expired_answer() {
  return problem({.code = core::Code::key_expired,
                  .detail = "The operation with this key was done too long ago for its answer to "
                            "be given again."});
}

Answer mismatch_answer(const admission::Mismatch& found) {
  return problem({.code = core::Code::key_reused,
                  .detail = "This key was used for something else. Use a new key for a new "
                            "operation, and the same payload for a retry.",
                  .new_key_safe = true,
                  .differs = found.differs,
                  .record = found.record->id.hex()});
}

Answer unknown_answer(const Record& record) {
  return problem({.code = core::Code::outcome_unknown,
                  .detail = std::string(execution::kOutcomeUnknown),
                  .record = record.id.hex()},
                 kUnknownRetry);
}

Answer used_answer(const Record& record) {
  return problem({.code = core::Code::token_used,
                  .detail = "The claim under this token has ended: it was released, or its lease "
                            "ran out. Choose a new token for a new attempt.",
                  .record = record.id.hex()});
}

}  // namespace

std::optional<KnownOperation> find_operation(const config::Config& config, std::string_view name) {
  KnownOperation known;
  known.rules.name = name;
  const auto& own = config.service->operations;
  const auto listed = std::ranges::find(own, name, &config::ServiceOperation::name);
  const auto route = std::ranges::find_if(config.routes, [&](const config::RouteConfig& one) {
    return one.name == name && one.scope == config::ScopeKind::operation && !one.webhook &&
           one.mode == config::Mode::enforce && !one.methods.empty();
  });
  if (listed == own.end() && route == config.routes.end()) return std::nullopt;
  if (route != config.routes.end()) {
    known.rules.operation = route->operation;
    known.rules.limits = route->limits;
    known.fingerprint = route->fingerprint;
    known.key = route->key.rules;
    known.former_names = route->aliases;
    known.describe = route->describe;
  }
  if (listed != own.end()) {
    const std::string version = known.rules.operation.response_version;
    known.rules = *listed;
    known.rules.operation.response_version = version;
  }
  // The clients execute, so how many of them do so at once is not known here; and a released claim
  // is kept, so that releasing it again gives the same result.
  known.rules.limits.in_flight = 0;
  known.rules.operation.on_retry = OnRetry::keep;
  return known;
}

std::string_view present_name(const config::Config& config, std::string_view name) {
  if (find_operation(config, name)) return name;
  for (const config::RouteConfig& route : config.routes) {
    if (std::ranges::find(route.aliases, name) != route.aliases.end()) return route.name;
  }
  return name;
}

std::optional<Answer> Claiming::prepare() {
  const config::Allowed& tenants = asked_.client.tenants;
  if (!body_.tenant && (tenants.all || tenants.names.size() > 1)) {
    return invalid("tenant: required, because this client's token allows several", true);
  }
  tenant_ = body_.tenant ? *body_.tenant : tenants.names.front();
  auto operation = find_operation(asked_.settings->config, body_.operation);
  // The same answer for everything that is not allowed, whether or not it is there.
  if (!operation || !asked_.client.may_use(tenant_, body_.operation)) {
    return problem({.code = core::Code::not_allowed,
                    .detail = "This client's token does not allow this operation of this tenant.",
                    .new_key_safe = true});
  }
  operation_ = *std::move(operation);
  if (const auto key = check_key(body_.key, operation_.key); !key) {
    return problem({.code = core::Code::key_invalid, .detail = key.error(), .new_key_safe = true});
  }
  const std::size_t body_max = asked_.config().max_body;
  if (body_.payload.size() > body_max) {
    return problem({.code = core::Code::body_too_large,
                    .detail = "A payload may have at most " + std::to_string(body_max) +
                              " bytes here. Send a fingerprint of it instead.",
                    .new_key_safe = true});
  }
  if (body_.lease) operation_.rules.operation.lease = *body_.lease;
  if (body_.ttl) operation_.rules.operation.ttl = *body_.ttl;
  const core::HashKeys& hash_keys = asked_.settings->key_material.hash_keys;
  recipe_ =
      execution::recipe_of(operation_.fingerprint, hash_keys, body_.request.content_type, false);
  if (body_.fingerprint) recipe_.body = BodyRecipe::raw;
  fingerprint_ =
      execution::fingerprint_under_key(make_fingerprint(recipe_, body_.view()), recipe_, hash_keys);
  return std::nullopt;
}

Call Claiming::call() {
  const core::HashKeys& hash_keys = asked_.settings->key_material.hash_keys;
  Call call;
  call.scope = {asked_.settings->config.name_space, tenant_, body_.operation};
  call.former_operations = operation_.former_names;
  call.key = body_.key;
  if (asked_.settings->config.store_keys == config::StoreKeys::digest) {
    call.shown_key = core::key_digest(body_.key, hash_keys.empty() ? nullptr : &hash_keys.front());
  }
  call.operation = operation_.rules.operation;
  call.recipe = recipe_;
  call.fingerprint = fingerprint_;
  call.fingerprint_under = [this](Recipe recipe) -> awaitable<Fingerprint> {
    co_return execution::fingerprint_under_key(make_fingerprint(recipe, body_.view()), recipe,
                                               asked_.settings->key_material.hash_keys);
  };
  call.description = execution::describe(asked_.settings->config, body_.request.method,
                                         body_.request.path, operation_.describe, body_.payload);
  call.client = ClientClaim{asked_.client.name, body_.token};
  call.may_execute = [this](bool is_new) { return has_room(is_new); };
  return call;
}

bool Claiming::has_room(bool is_new) {
  const std::string who = runtime::TenantLimits::who(tenant_, body_.operation);
  runtime::Services& services = asked_.services();
  limited_ = services.limits.begin(who, operation_.rules.limits, asked_.settings->config.limits,
                                   is_new, services.clock.now());
  return limited_.exceeded == runtime::TenantLimits::Limit::none;
}

awaitable<Admission> Claiming::admit() {
  try {
    co_return co_await asked_.services().engine.admit(call());
  } catch (const std::runtime_error& error) {
    // Nothing can be said about a record made under another recipe. Nothing was claimed.
    co_return StoreUnavailable{.why = error.what(), .unreadable = true};
  }
}

awaitable<Answer> Claiming::run() {
  if (auto refused = prepare()) co_return *std::move(refused);
  asked_.request.take_time();
  const SteadyTime until = after(asked_.services().clock.steady(), body_.wait);
  for (;;) {
    Admission admission = co_await admit();
    auto* busy = std::get_if<admission::Busy>(&admission);
    if (busy == nullptr || !co_await wait_for(busy->record, until)) co_return answer(admission);
  }
}

awaitable<bool> Claiming::wait_for(RecordPtr busy, SteadyTime until) {
  runtime::Services& services = asked_.services();
  const runtime::Counted all(all_waiting());
  const runtime::Counted own(asked_.holder->waiting);
  // One client alone cannot take all the places: beyond its share it is answered at once.
  if (!runtime::has_share(own.before(), all.before(), kWaitingMax)) co_return false;
  const Duration left = until - services.clock.steady();
  if (left <= Duration{0} || services.draining) co_return false;
  Duration slice = std::min(left, kWaitSlice);
  // When the lease runs out, the next look decides by the operation's policy.
  const Duration leased = busy->lease_until - services.clock.now() + Duration{1};
  if (leased > Duration{0}) slice = std::min(slice, leased);
  const Waited waited = co_await services.engine.wait(busy->id, busy->token, slice);
  if (std::holds_alternative<waited::LookAgain>(waited)) {
    co_await runtime::wait_elsewhere(services, busy->id, busy->token, slice);
  }
  // Nobody is left to hold the claim that it might get now.
  co_return asked_.request.still_waits();
}

Answer Claiming::no_room() const {
  const auto wait = std::chrono::ceil<seconds>(limited_.retry_after);
  return problem(execution::limit_problem(limited_.exceeded), wait);
}

Answer Claiming::answer(const Admission& admission) const {
  return std::visit(
      base::Overloaded{
          [this](const admission::Execute& found) {
            return claimed(*found.claim.record, asked_.services().clock.now());
          },
          [](const admission::Replay& found) { return shown(*found.record); },
          [](const admission::Mismatch& found) { return mismatch_answer(found); },
          [](const admission::Busy& found) { return busy_answer(*found.record); },
          [](const admission::Queued& found) { return busy_answer(*found.record); },
          [](const admission::OutcomeUnknown& found) { return unknown_answer(*found.record); },
          [](const admission::TokenUsed& found) { return used_answer(*found.record); },
          [](const admission::Expired&) { return expired_answer(); },
          [](const admission::VersionChanged&) { return expired_answer(); },
          [this](const admission::NoRoom&) { return no_room(); },
          [](const StoreUnavailable&) {
            return store_unavailable(
                "It is not known whether the key was claimed. Ask again with the same key and the "
                "same token.");
          },
      },
      admission);
}

}  // namespace semel::service
