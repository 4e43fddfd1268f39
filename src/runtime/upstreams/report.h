#pragma once

#include <string>
#include <vector>

#include "runtime/active_config.h"

// The state of upstreams and circuits, for operators.
namespace semel::runtime {

void note_upstreams(const ActiveConfig& settings, telemetry::Metrics::Snapshot& snapshot);

// Returns one line per route with upstreams that are left out, and per circuit that is open.
std::vector<std::string> upstream_troubles(const ActiveConfig& settings);

}  // namespace semel::runtime
