// The last hour in memory: every second once, coarser steps as their sum, and never more than that.
#include "telemetry/history.h"

#include <gtest/gtest.h>

#include "telemetry/recent_decisions.h"

namespace semel::telemetry {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr Time kBegin{std::chrono::hours(24 * 365 * 50)};

std::uint32_t executed_in(const HistoryPoint& point) {
  return point.results[static_cast<std::size_t>(RequestResult::executed)];
}

TEST(History, EachSecondHasWhatHappenedInIt) {
  Metrics metrics;
  History history;
  RouteMetrics& route = metrics.route("charges");
  route.count(RequestResult::executed);
  route.upstream_took(0.020);
  history.take(kBegin, metrics, {.in_progress = 2, .oldest_in_progress_seconds = 1.5F});
  history.take(kBegin + seconds(1), metrics, {.unknown_records = 7});
  const auto& points = history.points(seconds(1));
  ASSERT_EQ(points.size(), 2);
  EXPECT_EQ(points[0].at, kBegin);
  EXPECT_EQ(executed_in(points[0]), 1);
  EXPECT_EQ(points[0].in_progress, 2);
  EXPECT_NEAR(points[0].upstream->p50_ms, 20, 2.5);
  EXPECT_FALSE(points[0].store.has_value());
  EXPECT_EQ(executed_in(points[1]), 0);
  EXPECT_FALSE(points[1].upstream.has_value());
  EXPECT_EQ(points[1].unknown_records, 7);
}

TEST(History, ALongerStepIsTheSumOfItsSeconds) {
  Metrics metrics;
  History history;
  for (int i = 0; i < 60; ++i) {
    metrics.route("a").count(RequestResult::executed);
    metrics.store_committed(1, i < 59 ? 0.001 : 1);
    history.take(kBegin + seconds(i), metrics, {.in_progress = static_cast<std::uint32_t>(i)});
  }
  const auto& tens = history.points(seconds(10));
  ASSERT_EQ(tens.size(), 6);
  EXPECT_EQ(executed_in(tens[0]), 10);
  EXPECT_EQ(tens[1].at, kBegin + seconds(10));
  EXPECT_EQ(tens[0].in_progress, 9);
  const auto& minute = history.points(minutes(1));
  ASSERT_EQ(minute.size(), 1);
  EXPECT_EQ(executed_in(minute[0]), 60);
  EXPECT_NEAR(minute[0].store->p50_ms, 1, 0.2);
  EXPECT_NEAR(minute[0].store->p99_ms, 1000, 125);
}

TEST(History, AStepIsClosedAlsoIfItsLastSecondWasMissed) {
  Metrics metrics;
  History history;
  history.take(kBegin, metrics, {});
  history.take(kBegin + seconds(25), metrics, {});
  ASSERT_EQ(history.points(seconds(10)).size(), 1);
  EXPECT_EQ(history.points(seconds(10))[0].at, kBegin);
}

TEST(History, KeepsOneHour) {
  Metrics metrics;
  History history;
  for (int i = 0; i < 4000; ++i) history.take(kBegin + seconds(i), metrics, {});
  EXPECT_EQ(history.points(seconds(1)).size(), 3600);
  EXPECT_EQ(history.points(seconds(1)).front().at, kBegin + seconds(400));
  EXPECT_EQ(history.points(seconds(10)).size(), 360);
  EXPECT_EQ(history.points(minutes(1)).size(), 60);
  EXPECT_EQ(history.taken(), 4000);
}

TEST(RecentDecisions, KeepsTheLatestInOrder) {
  RecentDecisions recent;
  EXPECT_TRUE(recent.latest(0, 10).empty());
  for (int i = 1; i <= 1500; ++i) {
    recent.add([&](RecentDecision& entry) { entry.status = i; });
  }
  EXPECT_EQ(recent.last(), 1500);
  const auto all = recent.latest(0, 5000);
  ASSERT_EQ(all.size(), RecentDecisions::kKept);
  EXPECT_EQ(all.front().seq, 501);
  EXPECT_EQ(all.front().status, 501);
  EXPECT_EQ(all.back().seq, 1500);
  const auto some = recent.latest(1490, 3);
  ASSERT_EQ(some.size(), 3);
  EXPECT_EQ(some.front().seq, 1498);
  EXPECT_TRUE(recent.latest(1500, 10).empty());
  EXPECT_TRUE(recent.latest(9999, 10).empty());
}

TEST(RecentDecisions, CutsWhatIsTooLong) {
  std::string text;
  RecentDecisions::set(text, std::string(5000, 'x'));
  EXPECT_EQ(text.size(), RecentDecisions::kTextBytesMax);
}

}  // namespace
}  // namespace semel::telemetry
