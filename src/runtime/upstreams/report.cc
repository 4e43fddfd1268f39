#include "runtime/upstreams/report.h"

#include <algorithm>

namespace semel::runtime {
namespace {

// Returns the endpoints of a route, each once: a file may list an upstream twice.
std::vector<EndpointPtr> endpoints_of(const RouteEndpoints& upstreams) {
  std::vector<EndpointPtr> found;
  for (const EndpointSetPtr& set : upstreams) {
    for (EndpointPtr& endpoint : set->endpoints()) {
      if (std::ranges::find(found, endpoint) == found.end()) found.push_back(std::move(endpoint));
    }
  }
  return found;
}

}  // namespace

void note_upstreams(const ActiveConfig& settings, telemetry::Metrics::Snapshot& snapshot) {
  for (std::size_t route = 0; route < settings.routes.size(); ++route) {
    const std::string& name = settings.routes[route].name;
    for (const EndpointPtr& endpoint : endpoints_of(settings.endpoints[route])) {
      snapshot.upstreams.push_back({.route = name,
                                    .upstream = endpoint->name(),
                                    .is_ejected = endpoint->is_ejected(),
                                    .is_down = endpoint->is_down(),
                                    .exchanges = endpoint->exchanges(),
                                    .failures = endpoint->failures()});
    }
    if (const CircuitPtr& circuit = settings.circuits[route]) {
      snapshot.circuits.push_back({.route = name,
                                   .is_open = circuit->is_open(),
                                   .opened = circuit->opened(),
                                   .refused = circuit->refused()});
    }
  }
}

// Names no address: this is shown to everybody who asks for /readyz.
std::vector<std::string> upstream_troubles(const ActiveConfig& settings) {
  std::vector<std::string> lines;
  for (std::size_t route = 0; route < settings.routes.size(); ++route) {
    const std::string& name = settings.routes[route].name;
    const std::vector<EndpointPtr> endpoints = endpoints_of(settings.endpoints[route]);
    const auto out = std::ranges::count_if(
        endpoints, [](const EndpointPtr& endpoint) { return !endpoint->is_up(); });
    if (out > 0) {
      lines.push_back("route " + name + ": " + std::to_string(out) + " of " +
                      std::to_string(endpoints.size()) + " upstreams left out");
    }
    if (settings.circuits[route] && settings.circuits[route]->is_open()) {
      lines.push_back("route " + name + ": circuit open");
    }
  }
  return lines;
}

}  // namespace semel::runtime
