#include "runtime/upstreams/endpoint.h"

#include <algorithm>
#include <utility>

namespace semel::runtime {
namespace {

// The longest ejection, as a multiple of `eject_for`: long enough that a dead upstream costs
// nothing, short enough that one that is back is soon found.
constexpr std::size_t kEjectionGrowthMax = 10;
// At the beginning of a slow start.
constexpr double kWeightMin = 0.1;

}  // namespace

std::string Endpoint::name() const {
  const bool is_six = key_.host.contains(':');
  std::string name = key_.tls ? "https://" : "http://";
  name += (is_six ? "[" + key_.host + "]" : key_.host) + ":" + std::to_string(key_.port);
  if (!key_.address.empty()) name += " (" + key_.address + ")";
  return name;
}

bool Endpoint::is_up() const {
  return !is_ejected() && !is_down();
}

bool Endpoint::take_trial(Instant now, Duration patience) {
  const Ticks ticks = now.time_since_epoch().count();
  const Ticks until = ejected_until_.load(std::memory_order_relaxed);
  if (is_down() || until == 0 || until > ticks) return false;
  const std::lock_guard lock(mutex_);
  if (ejected_until_.load(std::memory_order_relaxed) != until) return false;
  is_tried_ = true;
  ejected_until_.store((now + patience).time_since_epoch().count(), std::memory_order_relaxed);
  return true;
}

double Endpoint::weight(Instant now, Duration slow_start) const {
  const Ticks since = back_since_.load(std::memory_order_relaxed);
  if (since == 0 || slow_start <= Duration{0}) return 1;
  const std::chrono::duration<double> back = now.time_since_epoch() - Instant::duration(since);
  return std::clamp(back / std::chrono::duration<double>(slow_start), kWeightMin, 1.0);
}

bool Endpoint::connected(Instant now) {
  if (failures_in_row_.load(std::memory_order_relaxed) == 0 && !is_ejected()) return false;
  const std::lock_guard lock(mutex_);
  failures_in_row_.store(0, std::memory_order_relaxed);
  is_tried_ = false;
  if (!is_ejected()) return false;
  ejected_until_.store(0, std::memory_order_relaxed);
  back_since_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  return true;
}

std::optional<Duration> Endpoint::failed(Instant now, const config::BalanceConfig& rules) {
  failures_.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  const std::size_t in_row = failures_in_row_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (rules.fail_after == 0 || in_row < rules.fail_after) return std::nullopt;
  // Requests that tried it although it is ejected, or began before, change nothing.
  if (is_ejected() && !std::exchange(is_tried_, false)) return std::nullopt;
  const Duration longest = rules.eject_for * kEjectionGrowthMax;
  if (now > last_until_ + longest) ejections_ = 0;
  const std::size_t doublings = std::min<std::size_t>(ejections_++, kEjectionGrowthMax);
  const Duration ejected_for = std::min(rules.eject_for * (1U << doublings), longest);
  last_until_ = now + ejected_for;
  ejected_until_.store(last_until_.time_since_epoch().count(), std::memory_order_relaxed);
  return ejected_for;
}

bool Endpoint::check_passed(Instant now, std::size_t healthy_after) {
  const std::lock_guard lock(mutex_);
  checks_failed_ = 0;
  if (++checks_passed_ < healthy_after || !is_down()) return false;
  back_since_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  is_down_.store(false, std::memory_order_relaxed);
  return true;
}

bool Endpoint::check_failed(std::size_t unhealthy_after) {
  const std::lock_guard lock(mutex_);
  checks_passed_ = 0;
  if (++checks_failed_ < unhealthy_after || is_down()) return false;
  is_down_.store(true, std::memory_order_relaxed);
  return true;
}

}  // namespace semel::runtime
