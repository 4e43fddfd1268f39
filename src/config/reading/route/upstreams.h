#pragma once

#include "config/reading/reader.h"
#include "config/route.h"

// The keys of a route that say how its upstreams are chosen, watched and left out.
namespace semel::config::reading {

void read_balance(const Field& field, BalanceConfig& out);
void read_fail_after(const Field& field, BalanceConfig& out);
void read_eject_for(const Field& field, BalanceConfig& out);
void read_slow_start(const Field& field, BalanceConfig& out);
// `off` undoes what defaults say.
void read_health(const Field& field, std::optional<HealthConfig>& out);
void read_circuit(const Field& field, std::optional<CircuitConfig>& out);

void check_upstreams(const Field& route, const RouteConfig& config);

}  // namespace semel::config::reading
