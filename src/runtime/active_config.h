#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "runtime/key_material.h"
#include "runtime/routing.h"
#include "runtime/trusted_proxies.h"
#include "runtime/upstreams/circuit.h"
#include "runtime/upstreams/endpoint_set.h"
#include "telemetry/metrics.h"

namespace semel::runtime {

// The configuration in use and the objects made from it. Immutable: a reload makes a new one, and
// requests that began under the old one end under it.
struct ActiveConfig {
  // `running` is the one before, which passes on what it knows about upstreams; null: none.
  ActiveConfig(config::Config config_in, std::vector<config::RouteConfig> routes_in,
               KeyMaterial key_material_in, telemetry::Metrics& metrics_in,
               const ActiveConfig* running);

  const config::Config config;
  // The rules that this process executes by: one per route of the gateway, or per handler of
  // messages.
  const std::vector<config::RouteConfig> routes;
  const KeyMaterial key_material;
  const Router router;  // of the gateway's routes
  const TrustedProxies trusted;
  const std::string policy_page;                        // the answer to GET /.semel/policy
  const std::vector<telemetry::RouteMetrics*> metrics;  // by route
  const std::vector<RouteEndpoints> endpoints;          // by route
  const std::vector<CircuitPtr> circuits;               // by route
};
using ActiveConfigPtr = std::shared_ptr<const ActiveConfig>;

// Returns the keys of the file that differ between two configurations and take effect only with a
// restart.
std::vector<std::string> needs_restart(const config::Config& running, const config::Config& wanted);

// Returns `wanted`, with the values that need a restart taken from `running`.
config::Config reloadable(const config::Config& running, config::Config wanted);

}  // namespace semel::runtime
