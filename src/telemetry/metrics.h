#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "telemetry/exemplars.h"
#include "telemetry/latencies.h"
#include "telemetry/upstream_metrics.h"

namespace semel::telemetry {

// The result of a request, as counted.
enum class RequestResult {
  executed,
  replayed,
  waited,
  conflict,
  mismatch,
  expired,
  unknown,
  passed,    // no key: plain proxying
  refused,   // bad key, unknown tenant, too large, overloaded, store down
  failed,    // plain proxying: no answer from the upstream
  accepted,  // 202: queued, or in progress where the route accepts duplicates
};
inline constexpr std::size_t kRequestResults = 11;
std::string_view to_string(RequestResult result);
// The limits on executions, as counted when one is exceeded: TenantLimits::Limit without `none`.
inline constexpr std::size_t kLimits = 5;

// The result that an observed request would have had on an enforcing route.
enum class Observed {
  executed,
  passed,  // no key: plain proxying
  replayed,
  waited,
  accepted,
  conflict,
  mismatch,
  expired,
  unknown,
  key_missing,
  key_invalid,
  tenant_unknown,
  too_large,
  store_unavailable,
  unseen,  // cannot be told
};
std::string_view to_string(Observed would);

// The counters of one route. Thread-safe.
class RouteMetrics {
 public:
  // `trace_id`: of the request, if it is traced.
  void count(RequestResult result, const std::string& trace_id = {});
  double value(RequestResult result) const {
    return results_[static_cast<std::size_t>(result)]->Value();
  }
  void upstream_took(double seconds, const std::string& trace_id = {});
  // Returns how long an execution usually takes: a running mean. 0: none has ended yet.
  double upstream_usually_takes() const { return usual_seconds_.load(std::memory_order_relaxed); }
  void weak_key() { weak_keys_->Increment(); }
  // Executions of the route that run in this process.
  std::atomic<std::size_t>& in_progress() { return in_progress_; }
  void limited(std::size_t limit) { limited_[limit]->Increment(); }
  void observed(Observed would);

 private:
  friend class Metrics;
  std::array<prometheus::Counter*, kRequestResults> results_{};
  prometheus::Histogram* upstream_seconds_ = nullptr;
  LatencyCounts* upstream_latencies_ = nullptr;
  std::atomic<std::size_t> in_progress_ = 0;
  std::atomic<double> usual_seconds_ = 0;
  prometheus::Counter* weak_keys_ = nullptr;
  std::array<prometheus::Counter*, kLimits> limited_{};
  // Its counters are made when needed: most routes are not observed.
  prometheus::Family<prometheus::Counter>* observed_ = nullptr;
  Exemplars* exemplars_ = nullptr;
  std::string name_;
};

// The counters behind /metrics (docs/spec.md 16). Thread-safe.
class Metrics {
 public:
  Metrics();

  // Returns a route's counters. They are made when its name is first seen and kept for good,
  // because a counter must not fall when a configuration is reloaded.
  RouteMetrics& route(const std::string& name);
  void store_committed(std::size_t records, double seconds);
  void reloaded(bool taken) { (taken ? reloads_taken_ : reloads_refused_)->Increment(); }
  void lease_lost() { leases_lost_->Increment(); }
  void left_to_others() { left_to_others_->Increment(); }
  void purged() { purged_->Increment(); }
  void store_failed() { store_failures_->Increment(); }

  // Returns how many requests of all routes had each result since the start.
  std::array<double, kRequestResults> totals();
  // The latencies of the store and of all upstreams, for whoever takes them now and then.
  LatencyCounts& store_latencies() { return store_latencies_; }
  LatencyCounts& upstream_latencies() { return upstream_latencies_; }

  // The gauges, as of one scrape.
  struct Snapshot {
    double in_progress = 0;
    double oldest_in_progress_seconds = 0;
    double unknown_records = 0;
    double oldest_unknown_seconds = 0;
    double waiting = 0;
    double connections = 0;
    double spool_bytes = 0;
    double spool_refused = 0;  // since the start
    std::optional<double> store_free_bytes;
    std::optional<double> spool_free_bytes;
    double free_bytes_min = 0;
    double removed_records = 0;  // by the store itself, since the start
    double store_clock_ahead_seconds = 0;
    bool store_doubts_clock = false;
    bool store_doubts_claims = false;
    std::vector<UpstreamState> upstreams = {};
    std::vector<CircuitState> circuits = {};
  };
  // For parts that have counters of their own beside the gateway's.
  prometheus::Registry& registry() { return registry_; }
  // text: Prometheus text format. open_metrics: with exemplars.
  enum class Format { text, open_metrics };
  // Returns all metrics.
  std::string render(const Snapshot& snapshot, Format format = Format::text);

 private:
  void add_requests();
  void add_store();
  void add_process();
  void take(const Snapshot& snapshot);

  prometheus::Registry registry_;
  prometheus::Family<prometheus::Counter>* requests_;
  prometheus::Family<prometheus::Histogram>* upstream_;
  prometheus::Family<prometheus::Counter>* weak_;
  prometheus::Family<prometheus::Counter>* limited_;
  prometheus::Family<prometheus::Counter>* observed_;
  Exemplars exemplars_;
  LatencyCounts store_latencies_;
  LatencyCounts upstream_latencies_;
  std::mutex routes_mutex_;
  std::map<std::string, RouteMetrics> routes_;
  prometheus::Histogram* swap_seconds_;
  prometheus::Histogram* batch_size_;
  prometheus::Counter* reloads_taken_;
  prometheus::Counter* reloads_refused_;
  prometheus::Counter* leases_lost_;
  prometheus::Counter* left_to_others_;
  prometheus::Counter* purged_;
  double removed_records_ = 0;  // those of purged_ that the store has removed by itself
  prometheus::Counter* store_failures_;
  prometheus::Gauge* replay_ratio_;
  prometheus::Gauge* in_progress_;
  prometheus::Gauge* oldest_in_progress_;
  prometheus::Gauge* unknown_;
  prometheus::Gauge* oldest_unknown_;
  prometheus::Gauge* waiting_;
  prometheus::Gauge* connections_;
  prometheus::Gauge* store_clock_ahead_;
  prometheus::Gauge* store_doubts_clock_;
  prometheus::Gauge* store_doubts_claims_;
  prometheus::Gauge* spool_bytes_;
  prometheus::Counter* spool_refused_;
  double spool_refused_before_ = 0;
  prometheus::Family<prometheus::Gauge>* free_bytes_;
  prometheus::Gauge* free_bytes_min_;
};

}  // namespace semel::telemetry
