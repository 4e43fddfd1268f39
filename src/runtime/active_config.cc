#include "runtime/active_config.h"

#include "config/policy_page.h"

namespace semel::runtime {
namespace {

std::vector<telemetry::RouteMetrics*> metrics_of(const std::vector<config::RouteConfig>& routes,
                                                 telemetry::Metrics& metrics) {
  std::vector<telemetry::RouteMetrics*> out;
  for (const config::RouteConfig& route : routes) out.push_back(&metrics.route(route.name));
  return out;
}

// nullopt: there is no service API.
std::optional<config::HostPort> service_listen(const config::Config& config) {
  if (!config.service) return std::nullopt;
  return config.service->listen;
}

}  // namespace

ActiveConfig::ActiveConfig(config::Config config_in, std::vector<config::RouteConfig> routes_in,
                           KeyMaterial key_material_in, telemetry::Metrics& metrics_in,
                           const ActiveConfig* running)
    : config(std::move(config_in)),
      routes(std::move(routes_in)),
      key_material(std::move(key_material_in)),
      router(config.routes),
      trusted(config.trusted_proxies),
      policy_page(config::make_policy_page(config)),
      metrics(metrics_of(routes, metrics_in)),
      endpoints(
          make_endpoints(routes, running ? running->endpoints : std::vector<RouteEndpoints>{})),
      circuits(running ? make_circuits(routes, running->routes, running->circuits)
                       : make_circuits(routes, {}, {})) {}

std::vector<std::string> needs_restart(const config::Config& running,
                                       const config::Config& wanted) {
  std::vector<std::string> keys;
  if (running.listen != wanted.listen) keys.push_back("listen");
  if (running.workers != wanted.workers) keys.push_back("workers");
  if (running.name_space != wanted.name_space) keys.push_back("namespace");
  if (running.admin != wanted.admin) keys.push_back("admin");
  if (service_listen(running) != service_listen(wanted)) keys.push_back("service.listen");
  if (running.store != wanted.store) keys.push_back("store");
  if (running.spool != wanted.spool) keys.push_back("spool");
  if (running.log != wanted.log) keys.push_back("log");
  if (running.tracing != wanted.tracing) keys.push_back("tracing");
  if (running.notify != wanted.notify) keys.push_back("notify");
  return keys;
}

config::Config reloadable(const config::Config& running, config::Config wanted) {
  wanted.listen = running.listen;
  wanted.workers = running.workers;
  wanted.name_space = running.name_space;
  wanted.admin = running.admin;
  if (service_listen(running) != service_listen(wanted)) wanted.service = running.service;
  wanted.store = running.store;
  wanted.spool = running.spool;
  wanted.log = running.log;
  wanted.tracing = running.tracing;
  wanted.notify = running.notify;
  return wanted;
}

}  // namespace semel::runtime
