// Repeated log lines are written once, and then counted.
#include "telemetry/log_pace.h"

#include <gtest/gtest.h>

namespace semel::telemetry {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(LogPace, TheFirstIsWrittenAndThenOneInAWhileWithTheNumberOfTheOthers) {
  LogPace pace;
  LogPace::Instant now{};
  EXPECT_EQ(pace.take("renewal", now), 0);
  for (int i = 0; i < 99; ++i)
    EXPECT_EQ(pace.take("renewal", now += milliseconds(100)), std::nullopt);
  EXPECT_EQ(pace.take("renewal", now += milliseconds(100)), 99);
  EXPECT_EQ(pace.take("renewal", now += milliseconds(100)), std::nullopt);
  EXPECT_EQ(pace.take("renewal", now += seconds(60)), 1);
}

TEST(LogPace, KindsAreCountedApart) {
  LogPace pace;
  const LogPace::Instant now{};
  EXPECT_EQ(pace.take("renewal", now), 0);
  EXPECT_EQ(pace.take("swap", now), 0);
  EXPECT_EQ(pace.take("swap", now), std::nullopt);
}

}  // namespace
}  // namespace semel::telemetry
