#include "runtime/upstreams/circuit.h"

#include <algorithm>

#include "telemetry/log.h"

namespace semel::runtime {

Circuit::Circuit(std::string route, const config::CircuitConfig& config)
    : route_(std::move(route)), config_(config), failures_(config.failures, Instant::min()) {}

std::optional<Duration> Circuit::closed_for(Instant now) {
  const Instant tried_at{Instant::duration(open_until_.load(std::memory_order_relaxed))};
  if (!is_open() || now >= tried_at) return std::nullopt;
  refused_.fetch_add(1, std::memory_order_relaxed);
  return std::chrono::duration_cast<Duration>(tried_at - now);
}

void Circuit::open_until(Instant at) {
  open_until_.store(at.time_since_epoch().count(), std::memory_order_relaxed);
}

std::expected<void, Duration> Circuit::check(Instant now) {
  if (!is_open()) return {};
  const std::lock_guard lock(mutex_);
  if (const auto wait = closed_for(now)) return std::unexpected(*wait);
  return {};
}

std::expected<Circuit::Pass, Duration> Circuit::enter(Instant now) {
  if (!is_open()) return while_closed();
  const std::lock_guard lock(mutex_);
  if (const auto wait = closed_for(now)) return std::unexpected(*wait);
  if (!is_open()) return while_closed();
  // The others wait for what becomes of this one.
  open_until(now + config_.open_for);
  return Pass{.is_trial = true, .opening = opened()};
}

void Circuit::give_back(Pass pass, Instant now) {
  if (!pass.is_trial) return;
  const std::lock_guard lock(mutex_);
  if (is_open() && is_recent(pass)) open_until(now);
}

void Circuit::succeeded(Pass pass) {
  if (!pass.is_trial) return;
  const std::lock_guard lock(mutex_);
  if (!is_open() || !is_recent(pass)) return;
  open_until_.store(0, std::memory_order_relaxed);
  std::ranges::fill(failures_, Instant::min());
  telemetry::log_event(config::LogLevel::info, "circuit closed", {{"route", route_}});
}

void Circuit::failed(Pass pass, Instant now) {
  const std::lock_guard lock(mutex_);
  if (!is_recent(pass)) return;
  const Instant until = now + config_.open_for;
  if (is_open()) {
    if (pass.is_trial) open_until(until);
    return;
  }
  failures_[next_] = now;
  next_ = (next_ + 1) % failures_.size();
  const Instant oldest = failures_[next_];
  if (oldest == Instant::min() || oldest + config_.window < now) return;
  open_until(until);
  opened_.fetch_add(1, std::memory_order_relaxed);
  telemetry::log_event(config::LogLevel::warn, "circuit opened",
                       {{"route", route_}, {"failures", std::to_string(config_.failures)}});
}

std::vector<CircuitPtr> make_circuits(const std::vector<config::RouteConfig>& routes,
                                      const std::vector<config::RouteConfig>& running_routes,
                                      const std::vector<CircuitPtr>& running) {
  std::vector<CircuitPtr> made;
  for (const config::RouteConfig& route : routes) {
    CircuitPtr& circuit = made.emplace_back();
    // Observing must not refuse anything.
    if (!route.circuit || route.mode == config::Mode::observe) continue;
    const auto same = std::ranges::find(running_routes, route.name, &config::RouteConfig::name);
    if (same != running_routes.end()) {
      const CircuitPtr& kept = running[static_cast<std::size_t>(same - running_routes.begin())];
      if (kept && kept->config() == *route.circuit) circuit = kept;
    }
    if (!circuit) circuit = std::make_shared<Circuit>(route.name, *route.circuit);
  }
  return made;
}

}  // namespace semel::runtime
