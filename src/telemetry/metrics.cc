#include "telemetry/metrics.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/names.h"
#include "engine/system_clock.h"
#include "telemetry/open_metrics.h"

namespace semel::telemetry {
namespace {

constexpr std::array<const char*, kRequestResults> kResultNames = {
    "executed", "replayed", "waited",  "conflict", "mismatch", "expired",
    "unknown",  "passed",   "refused", "failed",   "accepted"};

constexpr const char* kRequests = "semel_requests_total";
constexpr const char* kUpstreamSeconds = "semel_upstream_seconds";

constexpr std::array<const char*, kLimits> kLimitNames = {"new_keys", "live_keys", "in_flight",
                                                          "all_new_keys", "all_live_keys"};

const prometheus::Histogram::BucketBoundaries kSeconds = {
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
const prometheus::Histogram::BucketBoundaries kBatches = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};

prometheus::Gauge* gauge(prometheus::Registry& registry, const char* name, const char* help) {
  return &prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Counter* counter(prometheus::Registry& registry, const char* name, const char* help) {
  return &prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

}  // namespace

Metrics::Metrics() {
  add_requests();
  add_store();
  add_process();
}

void Metrics::add_requests() {
  requests_ = &prometheus::BuildCounter()
                   .Name(kRequests)
                   .Help("Requests by route and result")
                   .Register(registry_);
  upstream_ = &prometheus::BuildHistogram()
                   .Name(kUpstreamSeconds)
                   .Help("Time from forwarding a request until its answer arrived")
                   .Register(registry_);
  weak_ = &prometheus::BuildCounter()
               .Name("semel_weak_keys_total")
               .Help("New keys too short to be unguessable and collision-free")
               .Register(registry_);
  limited_ = &prometheus::BuildCounter()
                  .Name("semel_limited_total")
                  .Help("Executions refused because a tenant has used up a limit of the route")
                  .Register(registry_);
  observed_ = &prometheus::BuildCounter()
                   .Name("semel_observed_total")
                   .Help("Requests of routes in mode observe, by what enforcing would have done")
                   .Register(registry_);
  replay_ratio_ = gauge(registry_, "semel_replay_ratio",
                        "Share of replays among keyed requests that were executed or replayed");
  in_progress_ = gauge(registry_, "semel_in_progress", "Executions running in this process");
  oldest_in_progress_ =
      gauge(registry_, "semel_oldest_in_progress_seconds", "Age of the oldest running execution");
  waiting_ = gauge(registry_, "semel_waiting", "Duplicates waiting for an execution to end");
  leases_lost_ = counter(registry_, "semel_lease_renewals_lost_total",
                         "Leases that another claim took over while the execution ran");
  left_to_others_ = counter(registry_, "semel_work_left_to_others_total",
                            "Times that due work was found untouched by every process, of a route "
                            "that this process does not have");
}

void Metrics::add_store() {
  swap_seconds_ = &prometheus::BuildHistogram()
                       .Name("semel_store_swap_seconds")
                       .Help(
                           "Time from asking the store for a write until it was durable: the "
                           "longest wait of each group commit")
                       .Register(registry_)
                       .Add({}, kSeconds);
  batch_size_ = &prometheus::BuildHistogram()
                     .Name("semel_store_batch_size")
                     .Help("Records written by one group commit")
                     .Register(registry_)
                     .Add({}, kBatches);
  store_failures_ =
      counter(registry_, "semel_store_failures_total", "Calls to the store that failed");
  purged_ = counter(registry_, "semel_purged_records_total", "Expired records removed");
  unknown_ = gauge(registry_, "semel_unknown_records", "Records whose outcome is unknown");
  oldest_unknown_ = gauge(registry_, "semel_oldest_unknown_seconds",
                          "Time since the oldest of them became unknown");
  store_clock_ahead_ =
      gauge(registry_, "semel_store_clock_ahead_seconds",
            "How far this machine's clock is ahead of the clocks of the store's servers");
  store_doubts_clock_ = gauge(registry_, "semel_store_doubts_clock",
                              "1 while nothing expires: the clocks are not known to agree");
  store_doubts_claims_ =
      gauge(registry_, "semel_store_doubts_claims", "1 while nothing new is executed");
}

void Metrics::add_process() {
  auto& reloads = prometheus::BuildCounter()
                      .Name("semel_config_reloads_total")
                      .Help("Configurations read again on SIGHUP, by whether they were accepted")
                      .Register(registry_);
  reloads_taken_ = &reloads.Add({{"result", "loaded"}});
  reloads_refused_ = &reloads.Add({{"result", "refused"}});
  connections_ = gauge(registry_, "semel_connections", "Open client connections");
  spool_bytes_ = gauge(registry_, "semel_spool_bytes", "Bytes of request bodies in files");
  spool_refused_ = counter(registry_, "semel_spool_refused_total",
                           "Times that a request's body found no room in the spool");
  free_bytes_ = &prometheus::BuildGauge()
                     .Name("semel_free_bytes")
                     .Help("Free space on the disk of the store and of the spool")
                     .Register(registry_);
  free_bytes_min_ =
      gauge(registry_, "semel_free_bytes_min", "Free space below which they accept nothing new");
  gauge(registry_, "semel_up", "1 while the process runs")->Set(1);
  prometheus::BuildGauge()
      .Name("semel_build_info")
      .Help("The version that is running")
      .Register(registry_)
      .Add({{"version", SEMEL_VERSION}})
      .Set(1);
}

constexpr auto kObservedNames = base::names<Observed::unseen>({
    {Observed::executed, "executed"},
    {Observed::passed, "passed"},
    {Observed::replayed, "replayed"},
    {Observed::waited, "waited"},
    {Observed::accepted, "accepted"},
    {Observed::conflict, "conflict"},
    {Observed::mismatch, "mismatch"},
    {Observed::expired, "expired"},
    {Observed::unknown, "unknown"},
    {Observed::key_missing, "key-missing"},
    {Observed::key_invalid, "key-invalid"},
    {Observed::tenant_unknown, "tenant-unknown"},
    {Observed::too_large, "body-too-large"},
    {Observed::store_unavailable, "store-unavailable"},
    {Observed::unseen, "unseen"},
});

std::string_view to_string(RequestResult result) {
  return kResultNames[static_cast<std::size_t>(result)];
}

std::string_view to_string(Observed would) {
  return kObservedNames[would];
}

void RouteMetrics::count(RequestResult result, const std::string& trace_id) {
  const auto index = static_cast<std::size_t>(result);
  results_[index]->Increment();
  if (trace_id.empty()) return;
  exemplars_->put(series_name(kRequests, {{"result", kResultNames[index]}, {"route", name_}}),
                  {.trace_id = trace_id, .at = engine::SystemClock().now()});
}

// Two threads may overwrite each other's share of the mean, which stays a mean.
void RouteMetrics::upstream_took(double seconds, const std::string& trace_id) {
  constexpr double kWeight = 0.1;  // of the latest: the last 20 or so decide
  upstream_seconds_->Observe(seconds);
  if (!trace_id.empty()) {
    const auto bound = std::ranges::lower_bound(kSeconds, seconds);
    const double upper = bound == kSeconds.end() ? HUGE_VAL : *bound;
    exemplars_->put(bucket_name(kUpstreamSeconds, {{"route", name_}}, upper),
                    {trace_id, seconds, engine::SystemClock().now()});
  }
  upstream_latencies_->count(seconds);
  const double mean = upstream_usually_takes();
  usual_seconds_.store(mean == 0 ? seconds : mean + kWeight * (seconds - mean),
                       std::memory_order_relaxed);
}

void RouteMetrics::observed(Observed would) {
  observed_->Add({{"route", name_}, {"would", std::string(to_string(would))}}).Increment();
}

RouteMetrics& Metrics::route(const std::string& name) {
  const std::lock_guard lock(routes_mutex_);
  const auto [found, added] = routes_.try_emplace(name);
  RouteMetrics& route = found->second;
  if (added) {
    for (std::size_t i = 0; i < kRequestResults; ++i) {
      route.results_[i] = &requests_->Add({{"route", name}, {"result", kResultNames[i]}});
    }
    route.upstream_seconds_ = &upstream_->Add({{"route", name}}, kSeconds);
    route.upstream_latencies_ = &upstream_latencies_;
    route.weak_keys_ = &weak_->Add({{"route", name}});
    for (std::size_t i = 0; i < kLimits; ++i) {
      route.limited_[i] = &limited_->Add({{"route", name}, {"limit", kLimitNames[i]}});
    }
    route.observed_ = observed_;
    route.exemplars_ = &exemplars_;
    route.name_ = name;
  }
  return route;
}

void Metrics::store_committed(std::size_t records, double seconds) {
  batch_size_->Observe(static_cast<double>(records));
  swap_seconds_->Observe(seconds);
  store_latencies_.count(seconds);
}

std::array<double, kRequestResults> Metrics::totals() {
  std::array<double, kRequestResults> totals{};
  const std::lock_guard lock(routes_mutex_);
  for (const auto& [name, route] : routes_) {
    for (std::size_t i = 0; i < kRequestResults; ++i) totals[i] += route.results_[i]->Value();
  }
  return totals;
}

void Metrics::take(const Snapshot& snapshot) {
  double executed = 0;
  double replayed = 0;
  {
    const std::lock_guard lock(routes_mutex_);
    purged_->Increment(std::max(0.0, snapshot.removed_records - removed_records_));
    removed_records_ = snapshot.removed_records;
    spool_refused_->Increment(std::max(0.0, snapshot.spool_refused - spool_refused_before_));
    spool_refused_before_ = snapshot.spool_refused;
    for (const auto& [name, route] : routes_) {
      executed += route.value(RequestResult::executed);
      replayed += route.value(RequestResult::replayed) + route.value(RequestResult::waited);
    }
  }
  replay_ratio_->Set(executed + replayed > 0 ? replayed / (executed + replayed) : 0);
  in_progress_->Set(snapshot.in_progress);
  oldest_in_progress_->Set(snapshot.oldest_in_progress_seconds);
  unknown_->Set(snapshot.unknown_records);
  oldest_unknown_->Set(snapshot.oldest_unknown_seconds);
  waiting_->Set(snapshot.waiting);
  connections_->Set(snapshot.connections);
  store_clock_ahead_->Set(snapshot.store_clock_ahead_seconds);
  store_doubts_clock_->Set(snapshot.store_doubts_clock ? 1 : 0);
  store_doubts_claims_->Set(snapshot.store_doubts_claims ? 1 : 0);
  spool_bytes_->Set(snapshot.spool_bytes);
  if (snapshot.store_free_bytes) {
    free_bytes_->Add({{"of", "store"}}).Set(*snapshot.store_free_bytes);
  }
  if (snapshot.spool_free_bytes) {
    free_bytes_->Add({{"of", "spool"}}).Set(*snapshot.spool_free_bytes);
  }
  free_bytes_min_->Set(snapshot.free_bytes_min);
}

std::string Metrics::render(const Snapshot& snapshot, Format format) {
  take(snapshot);
  std::vector<prometheus::MetricFamily> families = registry_.Collect();
  std::ranges::move(upstream_families(snapshot.upstreams, snapshot.circuits),
                    std::back_inserter(families));
  if (format == Format::open_metrics) return render_open_metrics(families, exemplars_);
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace semel::telemetry
