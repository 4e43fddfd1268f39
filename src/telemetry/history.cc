#include "telemetry/history.h"

namespace semel::telemetry {
namespace {

constexpr double kMillisecondsPerSecond = 1e3;

std::optional<Quantiles> quantiles_of(const Latencies& latencies) {
  const auto p50 = latencies.quantile(0.5);
  const auto p99 = latencies.quantile(0.99);
  if (!p50 || !p99) return std::nullopt;
  return Quantiles{static_cast<float>(*p50 * kMillisecondsPerSecond),
                   static_cast<float>(*p99 * kMillisecondsPerSecond)};
}

Time begin_of_step(Time at, Duration step) {
  return at - at.time_since_epoch() % step;
}

}  // namespace

void History::Series::close() {
  if (!open) return;
  open->store = quantiles_of(store);
  open->upstream = quantiles_of(upstream);
  points.push_back(*open);
  if (points.size() > static_cast<std::size_t>(kLength / step)) points.pop_front();
  open.reset();
  store = {};
  upstream = {};
}

void History::Series::add(const HistoryPoint& second, const Latencies& stored,
                          const Latencies& asked) {
  const Time begin = begin_of_step(second.at, step);
  if (open && open->at != begin) close();
  if (!open) open.emplace().at = begin;
  for (std::size_t i = 0; i < kRequestResults; ++i) open->results[i] += second.results[i];
  open->in_progress = second.in_progress;
  open->oldest_in_progress_seconds = second.oldest_in_progress_seconds;
  open->unknown_records = second.unknown_records;
  store.add(stored);
  upstream.add(asked);
  if (begin_of_step(second.at + kSteps[0], step) != begin) close();
}

void History::take(Time at, Metrics& metrics, const Gauges& gauges) {
  const std::array<double, kRequestResults> totals = metrics.totals();
  HistoryPoint second;
  second.at = at;
  second.in_progress = gauges.in_progress;
  second.oldest_in_progress_seconds = gauges.oldest_in_progress_seconds;
  second.unknown_records = gauges.unknown_records;
  for (std::size_t i = 0; i < kRequestResults; ++i) {
    second.results[i] = static_cast<std::uint32_t>(totals[i] - totals_[i]);
  }
  totals_ = totals;
  const Latencies stored = metrics.store_latencies().take();
  const Latencies asked = metrics.upstream_latencies().take();
  for (Series& series : series_) series.add(second, stored, asked);
  ++taken_;
}

const std::deque<HistoryPoint>& History::points(Duration step) const {
  for (const Series& series : series_) {
    if (series.step == step) return series.points;
  }
  return series_.front().points;
}

}  // namespace semel::telemetry
