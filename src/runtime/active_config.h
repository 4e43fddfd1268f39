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

// The configuration in use and what is made from it. Never changes: a reload makes another one, and
// what began under the old one ends under it.
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

// Keys of the file that differ between two configurations and take effect only with a restart.
std::vector<std::string> needs_restart(const Config& running, const Config& wanted);

// `wanted` with what needs a restart as it is in `running`.
Config reloadable(const Config& running, Config wanted);

}  // namespace semel
