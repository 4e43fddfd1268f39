// Asks the engine what a keyed request is, and says whether there is room to execute it.
#include <stdexcept>
#include <utility>

#include "execution/call.h"
#include "execution/description.h"
#include "execution/operation_name.h"
#include "gateway/keyed/exchange_impl.h"

namespace semel::gateway {
using boost::asio::awaitable;

Scope Exchange::scope() const {
  const config::RouteConfig& named =
      execution::named_now(config_, *request_.settings, *request_.worker.settings());
  return {request_.settings->config.name_space, tenant_,
          execution::operation_name(named, named.name, request_.target)};
}

Call Exchange::call() {
  const config::RouteConfig& named =
      execution::named_now(config_, *request_.settings, *request_.worker.settings());
  Call call = execution::make_call(*request_.settings, config_, scope(), *key_);
  call.former_operations = execution::former_operations(named, request_.target);
  call.recipe = recipe_;
  call.fingerprint = fingerprint_;
  call.fingerprint_under = [this](Recipe recipe) { return fingerprint_under(std::move(recipe)); };
  // A body in a file is too large to be looked through here.
  call.description = execution::describe(request_.settings->config, request_.message.method(),
                                         request_.target.path, config_.describe,
                                         body_->is_spooled() ? std::string_view() : body_->text());
  call.wants_handle = config_.in_progress == config::InProgress::accept;
  if (slot_) call.request = to_be_queued_;
  call.trace = execution::trace_of(request_);
  if (only_waits_) {
    call.may_execute = [](bool) { return false; };
  } else if (config_.limits.any() || request_.limits().any_on_keys() || has_open_circuit()) {
    // A trial is taken last: a tenant over its limits must not use up those of others.
    call.may_execute = [this](bool is_new) {
      return may_pass_circuit(is_new) && has_room(is_new) && passes_circuit(is_new);
    };
  }
  return call;
}

awaitable<Admission> Exchange::admit() {
  Admission admission = co_await admit_once();
  if (!std::holds_alternative<admission::Execute>(admission)) {
    request_.tenant_slot.reset();
    if (pass_.is_trial) {
      route_.circuit()->give_back(std::exchange(pass_, {}), request_.worker.deadlines().now());
    }
  }
  co_return admission;
}

awaitable<Admission> Exchange::admit_once() {
  const telemetry::Trace::Part part(&request_.trace, "claim");
  try {
    co_return co_await services_.engine.admit(call());
  } catch (const std::runtime_error& error) {
    // Nothing can be said about a record made under another recipe. Nothing was claimed.
    co_return StoreUnavailable{.why = error.what(), .unreadable = true};
  }
}

// A request that is to be queued does not ask: it is executed when the circuit is closed again.
bool Exchange::has_open_circuit() const {
  return route_.circuit() && route_.circuit()->is_open() && !slot_;
}

bool Exchange::may_pass_circuit(bool is_new) {
  if (!has_open_circuit()) return true;
  const auto allowed = route_.circuit()->check(request_.worker.deadlines().now());
  if (!allowed) refused_by_circuit_ = {allowed.error(), is_new};
  return allowed.has_value();
}

bool Exchange::passes_circuit(bool is_new) {
  if (!has_open_circuit()) return true;
  const auto pass = route_.circuit()->enter(request_.worker.deadlines().now());
  if (pass) {
    pass_ = *pass;
    return true;
  }
  refused_by_circuit_ = {pass.error(), is_new};
  return false;
}

bool Exchange::has_room(bool is_new) {
  std::string who = runtime::TenantLimits::who(tenant_, scope().operation);
  limited_ =
      services_.limits.begin(who, config_.limits, request_.limits(), is_new, services_.clock.now());
  if (limited_.exceeded != runtime::TenantLimits::Limit::none) return false;
  if (config_.limits.in_flight > 0) {
    request_.tenant_slot.emplace(services_.limits, std::move(who));
  }
  return true;
}

}  // namespace semel::gateway
