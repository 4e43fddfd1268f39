#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace semel::telemetry {

// How often something took how long: counts in buckets, four per doubling, from microseconds to two
// minutes. A quantile is within an eighth of the truth.
class Latencies {
 public:
  static constexpr std::size_t kBuckets = 108;

  // Returns the bucket for a duration; longer ones than the last bucket's count there.
  static std::size_t bucket_of(double seconds);

  void add(std::size_t bucket, std::uint32_t count) { counts_[bucket] += count; }
  void add(const Latencies& others);
  // Returns the duration, in seconds, below which this share of all lies; nullopt: nothing was
  // counted.
  std::optional<double> quantile(double share) const;

 private:
  std::array<std::uint32_t, kBuckets> counts_{};
};

// Counts durations on any thread, without a lock, until somebody takes them.
class LatencyCounts {
 public:
  void count(double seconds) {
    counts_[Latencies::bucket_of(seconds)].fetch_add(1, std::memory_order_relaxed);
  }
  // Returns what was counted since the last call.
  Latencies take();

 private:
  std::array<std::atomic<std::uint32_t>, Latencies::kBuckets> counts_{};
};

}  // namespace semel::telemetry
