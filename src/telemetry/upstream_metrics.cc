#include "telemetry/upstream_metrics.h"

#include <utility>

namespace semel::telemetry {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

MetricFamily family(const char* name, const char* help, MetricType type) {
  MetricFamily made;
  made.name = name;
  made.help = help;
  made.type = type;
  return made;
}

void add(MetricFamily& to, Labels labels, double value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  (to.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  to.metric.push_back(std::move(metric));
}

std::vector<MetricFamily> of_upstreams(const std::vector<UpstreamState>& upstreams) {
  MetricFamily up = family("semel_upstream_up", "1 while the upstream takes part, 0 while left out",
                           MetricType::Gauge);
  MetricFamily ejected = family("semel_upstream_ejected",
                                "1 while left out after failures to connect", MetricType::Gauge);
  MetricFamily exchanges = family("semel_upstream_connections",
                                  "Connections with a request under way", MetricType::Gauge);
  MetricFamily failures = family("semel_upstream_failures_total",
                                 "Times that no connection could be made", MetricType::Counter);
  for (const UpstreamState& state : upstreams) {
    const Labels labels = {{"route", state.route}, {"upstream", state.upstream}};
    add(up, labels, state.is_ejected || state.is_down ? 0 : 1);
    add(ejected, labels, state.is_ejected ? 1 : 0);
    add(exchanges, labels, static_cast<double>(state.exchanges));
    add(failures, labels, static_cast<double>(state.failures));
  }
  return {std::move(up), std::move(ejected), std::move(exchanges), std::move(failures)};
}

std::vector<MetricFamily> of_circuits(const std::vector<CircuitState>& circuits) {
  MetricFamily open = family("semel_circuit_open",
                             "1 while the route refuses what it would send on", MetricType::Gauge);
  MetricFamily opened =
      family("semel_circuit_opened_total", "Times that the circuit opened", MetricType::Counter);
  MetricFamily refused = family("semel_circuit_refused_total",
                                "Requests refused by an open circuit", MetricType::Counter);
  for (const CircuitState& state : circuits) {
    const Labels labels = {{"route", state.route}};
    add(open, labels, state.is_open ? 1 : 0);
    add(opened, labels, static_cast<double>(state.opened));
    add(refused, labels, static_cast<double>(state.refused));
  }
  return {std::move(open), std::move(opened), std::move(refused)};
}

}  // namespace

std::vector<MetricFamily> upstream_families(const std::vector<UpstreamState>& upstreams,
                                            const std::vector<CircuitState>& circuits) {
  std::vector<MetricFamily> families;
  if (!upstreams.empty()) families = of_upstreams(upstreams);
  if (!circuits.empty()) {
    for (MetricFamily& one : of_circuits(circuits)) families.push_back(std::move(one));
  }
  return families;
}

}  // namespace semel::telemetry
