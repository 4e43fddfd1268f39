#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "runtime/key_material.h"
#include "runtime/routing.h"
#include "runtime/tenant.h"
#include "telemetry/metrics.h"

namespace semel {

// The configuration in use and the objects made from it. Immutable: a reload makes a new one, and
// requests that began under the old one end under it.
struct ActiveConfig {
  ActiveConfig(Config config_in, KeyMaterial key_material_in, Metrics& metrics_in);

  const Config config;
  const KeyMaterial key_material;
  const Router router;
  const TrustedProxies trusted;
  const std::string policy_page;             // the answer to GET /.semel/policy
  const std::vector<RouteMetrics*> metrics;  // by route
};
using ActiveConfigPtr = std::shared_ptr<const ActiveConfig>;

// Returns the keys of the file that differ between two configurations and take effect only with a
// restart.
std::vector<std::string> needs_restart(const Config& running, const Config& wanted);

// Returns `wanted`, with the values that need a restart taken from `running`.
Config reloadable(const Config& running, Config wanted);

}  // namespace semel
