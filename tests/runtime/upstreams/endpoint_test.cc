// When an upstream address is left out, for how long, and how it comes back.
#include "runtime/upstreams/endpoint.h"

#include <gtest/gtest.h>

namespace semel::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const Endpoint::Instant kStart{std::chrono::hours(1000)};
const config::BalanceConfig kRules{.fail_after = 3, .eject_for = seconds(10)};

// Has it ejected, after a trial if it is ejected already; returns for how long.
std::optional<Duration> eject(Endpoint& endpoint, Endpoint::Instant now) {
  if (!endpoint.is_up() && !endpoint.take_trial(now, seconds(2))) return std::nullopt;
  std::optional<Duration> ejected_for;
  for (std::size_t n = 0; n < kRules.fail_after && !ejected_for; ++n) {
    ejected_for = endpoint.failed(now, kRules);
  }
  return ejected_for;
}

TEST(Endpoint, IsEjectedAfterFailuresInARow) {
  Endpoint endpoint({"a", 1, {}, {}, {}});
  EXPECT_EQ(endpoint.failed(kStart, kRules), std::nullopt);
  EXPECT_EQ(endpoint.failed(kStart, kRules), std::nullopt);
  EXPECT_FALSE(endpoint.connected(kStart));  // not in a row
  EXPECT_EQ(endpoint.failed(kStart, kRules), std::nullopt);
  EXPECT_EQ(endpoint.failed(kStart, kRules), std::nullopt);
  EXPECT_TRUE(endpoint.is_up());
  EXPECT_EQ(endpoint.failed(kStart, kRules), seconds(10));
  EXPECT_FALSE(endpoint.is_up());
  EXPECT_EQ(endpoint.failures(), 5U);
}

TEST(Endpoint, IsNeverEjectedWithoutALimit) {
  Endpoint endpoint({"a", 1, {}, {}, {}});
  for (int n = 0; n < 100; ++n) EXPECT_EQ(endpoint.failed(kStart, {.fail_after = 0}), std::nullopt);
  EXPECT_TRUE(endpoint.is_up());
}

TEST(Endpoint, IsTriedByOneRequestWhenTheTimeIsOver) {
  Endpoint endpoint({"a", 1, {}, {}, {}});
  EXPECT_FALSE(endpoint.take_trial(kStart, seconds(2)));  // there is nothing to try
  eject(endpoint, kStart);
  EXPECT_FALSE(endpoint.take_trial(kStart + milliseconds(9999), seconds(2)));
  EXPECT_TRUE(endpoint.take_trial(kStart + seconds(10), seconds(2)));
  EXPECT_FALSE(endpoint.take_trial(kStart + seconds(10), seconds(2)));
  // The one who tried it was never heard of again.
  EXPECT_TRUE(endpoint.take_trial(kStart + seconds(12), seconds(2)));
  EXPECT_TRUE(endpoint.connected(kStart + seconds(13)));
  EXPECT_TRUE(endpoint.is_up());
  EXPECT_FALSE(endpoint.connected(kStart + seconds(13)));
}

TEST(Endpoint, IsEjectedForLongerEachTimeUpToABound) {
  Endpoint endpoint({"a", 1, {}, {}, {}});
  Endpoint::Instant now = kStart;
  for (const int expected : {10, 20, 40, 80, 100, 100}) {
    EXPECT_EQ(eject(endpoint, now), seconds(expected));
    now += seconds(expected);
  }
  // One failed trial is enough.
  ASSERT_TRUE(endpoint.take_trial(now, seconds(2)));
  EXPECT_EQ(endpoint.failed(now, kRules), seconds(100));
  // Failures of those who tried it although it is ejected change nothing.
  EXPECT_EQ(endpoint.failed(now, kRules), std::nullopt);
  now += seconds(100);
  ASSERT_TRUE(endpoint.take_trial(now, seconds(2)));
  EXPECT_TRUE(endpoint.connected(now));
  // It was well for a long time: it begins anew.
  EXPECT_EQ(eject(endpoint, now + seconds(101)), seconds(10));
}

TEST(Endpoint, StartsSlowlyWhenItIsBack) {
  Endpoint endpoint({"a", 1, {}, {}, {}});
  EXPECT_EQ(endpoint.weight(kStart, seconds(10)), 1);
  eject(endpoint, kStart);
  const auto back = kStart + seconds(10);
  ASSERT_TRUE(endpoint.take_trial(back, seconds(2)));
  ASSERT_TRUE(endpoint.connected(back));
  EXPECT_DOUBLE_EQ(endpoint.weight(back, seconds(10)), 0.1);
  EXPECT_DOUBLE_EQ(endpoint.weight(back + seconds(5), seconds(10)), 0.5);
  EXPECT_EQ(endpoint.weight(back + seconds(11), seconds(10)), 1);
  EXPECT_EQ(endpoint.weight(back, seconds(0)), 1);
}

TEST(Endpoint, GoesDownAndComesUpByItsChecks) {
  Endpoint endpoint({"a", 1, {}, {}, {}});
  EXPECT_FALSE(endpoint.check_failed(2));
  EXPECT_FALSE(endpoint.check_passed(kStart, 2));
  EXPECT_FALSE(endpoint.check_failed(2));
  EXPECT_TRUE(endpoint.check_failed(2));
  EXPECT_FALSE(endpoint.check_failed(2));
  EXPECT_FALSE(endpoint.is_up());
  EXPECT_FALSE(endpoint.take_trial(kStart, seconds(2)));
  EXPECT_FALSE(endpoint.check_passed(kStart, 2));
  EXPECT_TRUE(endpoint.check_passed(kStart, 2));
  EXPECT_TRUE(endpoint.is_up());
  EXPECT_DOUBLE_EQ(endpoint.weight(kStart, seconds(10)), 0.1);
}

TEST(Endpoint, IsCalledByItsUrl) {
  EXPECT_EQ(Endpoint({"10.0.0.1", 80, {}, {}, {}}).name(), "http://10.0.0.1:80");
  EXPECT_EQ(Endpoint({"::1", 80, http::TlsClientFiles{}, {}, {}}).name(), "https://[::1]:80");
  EXPECT_EQ(Endpoint({"api", 80, {}, {}, "::1"}).name(), "http://api:80 (::1)");
}

}  // namespace
}  // namespace semel::runtime
