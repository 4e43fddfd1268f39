#include "telemetry/latencies.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace semel::telemetry {
namespace {

constexpr double kMicrosecondsPerSecond = 1e6;
constexpr std::size_t kPerDoubling = 4;
constexpr std::uint64_t kLongest = std::uint64_t{1}
                                   << 40;  // microseconds: far above the last bucket

// The first microsecond of a bucket. Buckets below kPerDoubling have one microsecond each.
double begin_of(std::size_t bucket) {
  if (bucket < kPerDoubling) return static_cast<double>(bucket);
  const std::size_t doublings = bucket / kPerDoubling - 1;
  return std::ldexp(static_cast<double>(kPerDoubling + bucket % kPerDoubling),
                    static_cast<int>(doublings));
}

}  // namespace

std::size_t Latencies::bucket_of(double seconds) {
  const double microseconds = std::max(0.0, seconds * kMicrosecondsPerSecond);
  if (!(microseconds < static_cast<double>(kLongest))) return kBuckets - 1;
  const auto whole = static_cast<std::uint64_t>(microseconds);
  if (whole < kPerDoubling) return whole;
  const auto doublings = static_cast<std::size_t>(std::bit_width(whole)) - 3;  // 4 to 7: none
  const std::size_t bucket = kPerDoubling * doublings + (whole >> doublings);
  return std::min(bucket, kBuckets - 1);
}

void Latencies::add(const Latencies& others) {
  for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += others.counts_[i];
}

std::optional<double> Latencies::quantile(double share) const {
  std::uint64_t all = 0;
  for (const std::uint32_t count : counts_) all += count;
  if (all == 0) return std::nullopt;
  const auto rank = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(all)));
  std::uint64_t seen = 0;
  std::size_t bucket = 0;
  while (bucket + 1 < kBuckets && (seen += counts_[bucket]) < std::max<std::uint64_t>(rank, 1)) {
    ++bucket;
  }
  return (begin_of(bucket) + begin_of(bucket + 1)) / 2 / kMicrosecondsPerSecond;
}

Latencies LatencyCounts::take() {
  Latencies taken;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i].load(std::memory_order_relaxed) == 0) continue;
    taken.add(i, counts_[i].exchange(0, std::memory_order_relaxed));
  }
  return taken;
}

}  // namespace semel::telemetry
