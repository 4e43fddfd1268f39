#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/fingerprint/keyed_hash.h"
#include "execution/answer/reply.h"
#include "semel/driver/record.h"

namespace semel::gateway {

// How a keyed request was decided, for the line of the log about it.
struct Decision {
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
  // Nullopt: the request had no key after all, or never arrived whole.
  std::optional<telemetry::RequestResult> result = telemetry::RequestResult::refused;
  std::optional<RecordId> record;
  std::uint32_t attempt = 0;  // 0: no record was seen
};

// Notes a keyed request that was answered among the recent decisions, and writes one line about it
// if the configuration asks for that. `key` is as the client sent it; empty: none was found.
void log_decision(const execution::ClientRequest& request, const config::RouteConfig& route,
                  std::string_view tenant, std::string_view key, const Decision& decision);

// Return the tenant and the key as the log shows them; empty: not at all. `has_record`: the
// record's id, which is made of the key, is shown as well. `with` is null if there is no hash key.
std::string logged_tenant(std::string_view tenant, const core::HashKey* with);
std::string logged_key(std::string_view key, bool has_record, config::LogKeys keys,
                       const core::HashKey* with);

}  // namespace semel::gateway
