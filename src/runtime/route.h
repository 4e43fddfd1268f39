#pragma once

#include <utility>

#include "runtime/active_config.h"

namespace semel::runtime {

// A route under the configuration that a request began with. Keeps that configuration alive, so
// that a request that began under it ends under it.
class Route {
 public:
  Route(ActiveConfigPtr active, std::size_t index) : active_(std::move(active)), index_(index) {}

  const config::RouteConfig& config() const { return active_->routes[index_]; }
  const config::RouteConfig* operator->() const { return &config(); }
  telemetry::RouteMetrics& metrics() const { return *active_->metrics[index_]; }
  // The route's circuit breaker; null: it has none.
  Circuit* circuit() const { return active_->circuits[index_].get(); }
  const ActiveConfigPtr& active() const { return active_; }
  // Its index among the routes of active().
  std::size_t index() const { return index_; }

 private:
  ActiveConfigPtr active_;
  std::size_t index_;
};

}  // namespace semel::runtime
