#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <string>
#include <vector>

#include "gateway/config.h"

namespace semel {

// What became of a request, as counted.
enum class RequestResult {
  executed,
  replayed,
  waited,
  conflict,
  mismatch,
  expired,
  unknown,
  passed,   // no key: plain proxying
  refused,  // bad key, unknown tenant, too large, overloaded, store down
  failed,   // plain proxying: no answer from the upstream
};
inline constexpr std::size_t kRequestResults = 10;

// The counters behind /metrics (SPEC 16). Thread-safe; the hot ones are looked up once, here.
class Metrics {
 public:
  explicit Metrics(const std::vector<RouteConfig>& routes);

  void count(std::size_t route, RequestResult result);
  void upstream_took(std::size_t route, double seconds);
  void weak_key(std::size_t route) { routes_[route].weak_keys->Increment(); }
  void store_committed(std::size_t records, double seconds);
  void lease_lost() { leases_lost_->Increment(); }
  void purged() { purged_->Increment(); }
  void store_failed() { store_failures_->Increment(); }

  // The gauges, as of one scrape.
  struct Snapshot {
    double in_progress = 0;
    double oldest_in_progress_seconds = 0;
    double unknown_records = 0;
    double oldest_unknown_seconds = 0;
    double waiting = 0;
    double connections = 0;
  };
  // Prometheus text format.
  std::string render(const Snapshot& snapshot);

 private:
  struct Route {
    std::array<prometheus::Counter*, kRequestResults> results{};
    prometheus::Histogram* upstream_seconds = nullptr;
    prometheus::Counter* weak_keys = nullptr;
  };

  prometheus::Registry registry_;
  std::vector<Route> routes_;
  prometheus::Histogram* swap_seconds_;
  prometheus::Histogram* batch_size_;
  prometheus::Counter* leases_lost_;
  prometheus::Counter* purged_;
  prometheus::Counter* store_failures_;
  prometheus::Gauge* replay_ratio_;
  prometheus::Gauge* in_progress_;
  prometheus::Gauge* oldest_in_progress_;
  prometheus::Gauge* unknown_;
  prometheus::Gauge* oldest_unknown_;
  prometheus::Gauge* waiting_;
  prometheus::Gauge* connections_;
};

}  // namespace semel
