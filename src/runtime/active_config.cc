#include "runtime/active_config.h"

#include "config/policy_page.h"

namespace semel {
namespace {

std::vector<RouteMetrics*> metrics_of(const Config& config, Metrics& metrics) {
  std::vector<RouteMetrics*> out;
  for (const RouteConfig& route : config.routes) out.push_back(&metrics.route(route.name));
  return out;
}

}  // namespace

ActiveConfig::ActiveConfig(Config config_in, KeyMaterial key_material_in, Metrics& metrics_in)
    : config(std::move(config_in)),
      key_material(std::move(key_material_in)),
      router(config.routes),
      trusted(config.trusted_proxies),
      policy_page(make_policy_page(config)),
      metrics(metrics_of(config, metrics_in)) {}

std::vector<std::string> needs_restart(const Config& running, const Config& wanted) {
  std::vector<std::string> keys;
  if (running.listen != wanted.listen) keys.push_back("listen");
  if (running.workers != wanted.workers) keys.push_back("workers");
  if (running.name_space != wanted.name_space) keys.push_back("namespace");
  if (running.admin != wanted.admin) keys.push_back("admin");
  if (running.store != wanted.store) keys.push_back("store");
  if (running.spool != wanted.spool) keys.push_back("spool");
  if (running.log != wanted.log) keys.push_back("log");
  return keys;
}

Config reloadable(const Config& running, Config wanted) {
  wanted.listen = running.listen;
  wanted.workers = running.workers;
  wanted.name_space = running.name_space;
  wanted.admin = running.admin;
  wanted.store = running.store;
  wanted.spool = running.spool;
  wanted.log = running.log;
  return wanted;
}

}  // namespace semel
