#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <string>
#include <vector>

namespace semel::telemetry {

// The state of one upstream of a route, as of one scrape.
struct UpstreamState {
  std::string route;
  std::string upstream;
  bool is_ejected = false;
  bool is_down = false;  // by its checks
  std::size_t exchanges = 0;
  std::uint64_t failures = 0;  // to connect, since the upstream was configured
};

// The state of the circuit of a route, as of one scrape.
struct CircuitState {
  std::string route;
  bool is_open = false;
  std::uint64_t opened = 0;
  std::uint64_t refused = 0;
};

// Makes the metrics of upstreams and circuits anew at each scrape: the addresses of a name come and
// go, and so must their lines.
std::vector<prometheus::MetricFamily> upstream_families(const std::vector<UpstreamState>& upstreams,
                                                        const std::vector<CircuitState>& circuits);

}  // namespace semel::telemetry
