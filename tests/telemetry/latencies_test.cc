// Durations in buckets: quantiles are close, and nothing is too short or too long to be counted.
#include "telemetry/latencies.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>
#include <vector>

namespace semel::telemetry {
namespace {

TEST(Latencies, NothingCountedHasNoQuantile) {
  EXPECT_EQ(Latencies().quantile(0.5), std::nullopt);
}

TEST(Latencies, BucketsGrowWithTheDurationAndEndWithTheLast) {
  std::size_t before = 0;
  for (double seconds = 1e-6; seconds < 1000; seconds *= 1.01) {
    const std::size_t bucket = Latencies::bucket_of(seconds);
    EXPECT_GE(bucket, before);
    EXPECT_LE(bucket, before + 1);
    before = bucket;
  }
  EXPECT_EQ(before, Latencies::kBuckets - 1);
  EXPECT_EQ(Latencies::bucket_of(std::numeric_limits<double>::infinity()), Latencies::kBuckets - 1);
  EXPECT_EQ(Latencies::bucket_of(-1), 0);
}

TEST(Latencies, AQuantileIsWithinAnEighth) {
  for (double seconds = 1e-4; seconds < 60; seconds *= 1.7) {
    Latencies latencies;
    latencies.add(Latencies::bucket_of(seconds), 3);
    EXPECT_NEAR(*latencies.quantile(0.5), seconds, seconds / 8);
  }
}

TEST(Latencies, TheRareLongOnesShowInTheHighQuantileOnly) {
  Latencies latencies;
  latencies.add(Latencies::bucket_of(0.001), 98);
  Latencies slow;
  slow.add(Latencies::bucket_of(1), 2);
  latencies.add(slow);
  EXPECT_NEAR(*latencies.quantile(0.5), 0.001, 0.0002);
  EXPECT_NEAR(*latencies.quantile(0.99), 1, 0.125);
}

TEST(LatencyCounts, EachIsTakenOnceWhoeverCountsMeanwhile) {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kEach = 20'000;
  LatencyCounts counts;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (std::size_t n = 0; n < kEach; ++n) counts.count(n % 2 == 0 ? 0.001 : 1);
    });
  }
  Latencies all;
  for (int i = 0; i < 100; ++i) all.add(counts.take());
  threads.clear();
  all.add(counts.take());
  EXPECT_NEAR(*all.quantile(0.499), 0.001, 0.0002);
  EXPECT_NEAR(*all.quantile(0.501), 1, 0.125);
  EXPECT_EQ(counts.take().quantile(0.5), std::nullopt);
}

}  // namespace
}  // namespace semel::telemetry
