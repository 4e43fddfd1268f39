#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "semel/time.h"
#include "telemetry/latencies.h"
#include "telemetry/metrics.h"

namespace semel::telemetry {

struct Quantiles {
  float p50_ms = 0;
  float p99_ms = 0;
};

// Counts of one step of time, and how things stood at its end.
struct HistoryPoint {
  Time at{};  // its beginning
  std::array<std::uint32_t, kRequestResults> results{};
  std::optional<Quantiles> store;     // nullopt: nothing was written
  std::optional<Quantiles> upstream;  // nullopt: nothing was asked
  std::uint32_t in_progress = 0;
  float oldest_in_progress_seconds = 0;
  std::uint64_t unknown_records = 0;
};

// The last hour of this process in memory, in steps of 1 s, 10 s and 1 min. Some 400 KiB, however
// much happens. Used on one thread only.
class History {
 public:
  static constexpr Duration kLength = std::chrono::hours(1);
  static constexpr std::array<Duration, 3> kSteps = {
      std::chrono::seconds(1), std::chrono::seconds(10), std::chrono::minutes(1)};

  struct Gauges {
    std::uint32_t in_progress = 0;
    float oldest_in_progress_seconds = 0;
    std::uint64_t unknown_records = 0;
  };
  // Takes what was counted since the last call as what happened in the second that begins at `at`.
  void take(Time at, Metrics& metrics, const Gauges& gauges);

  // Returns the points of steps of this length that are over, oldest first. `step` is one of
  // kSteps.
  const std::deque<HistoryPoint>& points(Duration step) const;
  // The number of take() calls so far.
  std::uint64_t taken() const { return taken_; }

 private:
  struct Series {
    explicit Series(Duration step_in) : step(step_in) {}
    void add(const HistoryPoint& second, const Latencies& store, const Latencies& upstream);
    void close();

    const Duration step;
    std::optional<HistoryPoint> open;
    Latencies store;
    Latencies upstream;
    std::deque<HistoryPoint> points;
  };

  std::uint64_t taken_ = 0;
  std::array<double, kRequestResults> totals_{};
  std::array<Series, 3> series_ = {Series(kSteps[0]), Series(kSteps[1]), Series(kSteps[2])};
};

}  // namespace semel::telemetry
