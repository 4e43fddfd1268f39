#include "config/reading/route/upstreams.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace semel::config::reading {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::size_t kInRowMax = 1000;
// The times of so many failures are kept per route.
constexpr std::size_t kCircuitFailuresMax = 100'000;
constexpr std::size_t kHealthPathLengthMax = 1024;
// More often, checks would be load.
constexpr Duration kHealthIntervalMin = milliseconds(100);
constexpr std::string_view kOff = "off";

bool is_off(const Field& field) {
  return field.node().kind == NodeKind::scalar && field.node().text == kOff;
}

void read_health_path(const Field& field, HealthConfig& out) {
  std::string path;
  field.read(path, 1, kHealthPathLengthMax);
  if (path.empty()) return;
  const bool is_visible = std::ranges::all_of(path, [](char c) { return c > ' ' && c < 0x7f; });
  if (!path.starts_with('/') || !is_visible || path.contains('#')) {
    field.bad_value("is not a path; write it like /healthz, with what is not ASCII escaped");
    return;
  }
  out.path = std::move(path);
}

constexpr std::array kHealthKeys = std::to_array<Key<HealthConfig>>({
    {"path", read_health_path},
    {"interval",
     [](const Field& f, HealthConfig& out) { f.read(out.interval, kHealthIntervalMin, hours(1)); }},
    {"timeout",
     [](const Field& f, HealthConfig& out) { f.read(out.timeout, milliseconds(1), minutes(5)); }},
    {"unhealthy_after",
     [](const Field& f, HealthConfig& out) { f.read_count(out.unhealthy_after, 1, kInRowMax); }},
    {"healthy_after",
     [](const Field& f, HealthConfig& out) { f.read_count(out.healthy_after, 1, kInRowMax); }},
});

constexpr std::array kCircuitKeys = std::to_array<Key<CircuitConfig>>({
    {"failures", [](const Field& f,
                    CircuitConfig& out) { f.read_count(out.failures, 1, kCircuitFailuresMax); }},
    {"window",
     [](const Field& f, CircuitConfig& out) { f.read(out.window, milliseconds(1), hours(1)); }},
    {"open_for",
     [](const Field& f, CircuitConfig& out) { f.read(out.open_for, milliseconds(1), hours(1)); }},
});

}  // namespace

void read_balance(const Field& field, BalanceConfig& out) {
  read_choice(
      field,
      {{"round_robin", Balance::round_robin}, {"least_connections", Balance::least_connections}},
      out.by);
}

void read_fail_after(const Field& field, BalanceConfig& out) {
  field.read_count(out.fail_after, 0, kInRowMax);
}

void read_eject_for(const Field& field, BalanceConfig& out) {
  field.read(out.eject_for, milliseconds(1), hours(1));
}

void read_slow_start(const Field& field, BalanceConfig& out) {
  field.read(out.slow_start, seconds(0), hours(1));
}

void read_health(const Field& field, std::optional<HealthConfig>& out) {
  if (is_off(field)) {
    out.reset();
    return;
  }
  if (!out) out.emplace();
  read_mapping(field, kHealthKeys, *out);
}

void read_circuit(const Field& field, std::optional<CircuitConfig>& out) {
  if (is_off(field)) {
    out.reset();
    return;
  }
  if (!out) out.emplace();
  read_mapping(field, kCircuitKeys, *out);
}

void check_upstreams(const Field& route, const RouteConfig& config) {
  if (config.health && config.health->path.empty()) {
    route.at("health").error("needs a path to ask, like {path: /healthz}");
  }
  if (config.circuit && config.mode == Mode::observe) {
    route.at("circuit").warn("has no effect with mode: observe, which refuses nothing");
  }
}

}  // namespace semel::config::reading
