#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "semel/time.h"

namespace semel::config {

// How the upstreams of a route share its requests.
enum class Balance { round_robin, least_connections };

// How Semel itself asks each upstream whether it is well.
struct HealthConfig {
  std::string path;
  Duration interval = std::chrono::seconds(5);
  Duration timeout = std::chrono::seconds(2);
  std::size_t unhealthy_after = 2;  // checks in a row
  std::size_t healthy_after = 2;
  auto operator<=>(const HealthConfig&) const = default;
};

// When a route stops sending requests on, because they fail.
struct CircuitConfig {
  std::size_t failures = 20;  // within `window`
  Duration window = std::chrono::seconds(10);
  Duration open_for = std::chrono::seconds(5);
  bool operator==(const CircuitConfig&) const = default;
};

// How a route chooses among its upstreams, and when it leaves one out.
struct BalanceConfig {
  Balance by = Balance::round_robin;
  std::size_t fail_after = 3;  // failures to connect, in a row; 0: never
  Duration eject_for = std::chrono::seconds(10);
  Duration slow_start{0};
};

}  // namespace semel::config
