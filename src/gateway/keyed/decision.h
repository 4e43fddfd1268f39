#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

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

// Writes one line about a keyed request that was answered, if the configuration asks for it.
// `key` is as the client sent it; empty: none was found.
void log_decision(const execution::ClientRequest& request, const config::RouteConfig& route,
                  std::string_view tenant, std::string_view key, const Decision& decision);

}  // namespace semel::gateway
