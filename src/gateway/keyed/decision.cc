#include "gateway/keyed/decision.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <array>

#include "core/fingerprint/keyed_hash.h"
#include "core/record_bytes.h"
#include "execution/headers.h"
#include "telemetry/log.h"

namespace semel::gateway {
namespace {

// Enough to tell lines apart and to search by.
constexpr std::size_t kDigitsShown = 16;

std::string shown(std::string_view value, const core::HashKey* with) {
  if (value.empty()) return {};
  return core::key_digest(value, with).substr(0, kDigitsShown);
}

// Milliseconds with three decimals. Written for every request: no floating point.
struct Milliseconds {
  explicit Milliseconds(std::chrono::steady_clock::duration took) {
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(took).count();
    end = fmt::format_to(text.data(), FMT_COMPILE("{}.{:03}"), us / 1000, us % 1000);
  }
  std::string_view view() const { return {text.data(), end}; }
  std::array<char, 32> text;
  char* end;
};

void remember(const execution::ClientRequest& request, const config::RouteConfig& route,
              std::string_view tenant, std::string_view key, const Decision& decision) {
  using telemetry::RecentDecisions;
  runtime::Services& services = request.services();
  const Time now = services.clock.now();
  const auto took = std::chrono::steady_clock::now() - decision.begun;
  const std::string trace = execution::trace_of(request);
  services.decisions.add([&](telemetry::RecentDecision& entry) {
    entry.at = now;
    entry.result = *decision.result;
    entry.status = request.sent_status;
    entry.record = decision.record;
    entry.attempt = decision.attempt;
    entry.took = std::chrono::duration_cast<std::chrono::microseconds>(took);
    RecentDecisions::set(entry.route, route.name);
    RecentDecisions::set(entry.method, request.message.method());
    RecentDecisions::set(entry.key, key);
    RecentDecisions::set(entry.tenant, tenant);
    RecentDecisions::set(entry.peer, request.forwarded.peer_address);
    RecentDecisions::set(entry.trace, trace);
  });
}

}  // namespace

std::string logged_tenant(std::string_view tenant, const core::HashKey* with) {
  return shown(tenant, with);
}

std::string logged_key(std::string_view key, bool has_record, config::LogKeys keys,
                       const core::HashKey* with) {
  if (keys == config::LogKeys::full) return std::string(key);
  return has_record ? "" : shown(key, with);
}

void log_decision(const execution::ClientRequest& request, const config::RouteConfig& route,
                  std::string_view tenant, std::string_view key, const Decision& decision) {
  const config::LogConfig& log = request.settings->config.log;
  if (!decision.result) return;
  remember(request, route, tenant, key, decision);
  if (log.decisions != config::LogDecisions::all || !telemetry::logs(config::LogLevel::info))
    return;
  const auto& hash_keys = request.settings->key_material.hash_keys;
  const core::HashKey* hash_key = hash_keys.empty() ? nullptr : &hash_keys.front();
  const Milliseconds took(std::chrono::steady_clock::now() - decision.begun);
  const fmt::format_int status(request.sent_status);
  const fmt::format_int attempt(decision.attempt);
  telemetry::log_event(
      config::LogLevel::info, "request",
      {{"result", telemetry::to_string(*decision.result)},
       {"status", request.sent_status == 0 ? "" : std::string_view(status.c_str())},
       {"code", request.sent_code},
       {"route", route.name},
       {"tenant", logged_tenant(tenant, hash_key)},
       {"key", logged_key(key, decision.record.has_value(), log.keys, hash_key)},
       {"record", decision.record ? core::shown_id(*decision.record) : ""},
       {"attempt", decision.attempt == 0 ? "" : std::string_view(attempt.c_str())},
       {"ms", took.view()},
       {"peer", request.forwarded.peer_address},
       {"trace", execution::trace_of(request)}});
}

}  // namespace semel::gateway
