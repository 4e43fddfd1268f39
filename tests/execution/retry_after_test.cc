#include "execution/answer/retry_after.h"

#include <gtest/gtest.h>

namespace semel::execution {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Time kThen = Time(std::chrono::hours(1));

Record record_of_then() {
  Record record;
  record.created_at = Time{};
  record.updated_at = kThen;
  return record;
}

TEST(RetryAfter, AnExecutionIsLikelyToTakeWhatItUsuallyDoesLessItsAge) {
  const config::RouteConfig route;
  const Record record = record_of_then();
  EXPECT_EQ(retry_after_in_progress(route, 10, record, kThen), seconds(10));
  EXPECT_EQ(retry_after_in_progress(route, 10, record, kThen + seconds(4)), seconds(6));
}

TEST(RetryAfter, NobodyIsSentAwayForLongerThanHalfAMinuteOrToComeBackAtOnce) {
  const config::RouteConfig route;
  const Record record = record_of_then();
  EXPECT_EQ(retry_after_in_progress(route, 0, record, kThen), seconds(1));
  EXPECT_EQ(retry_after_in_progress(route, 10, record, kThen + minutes(5)), seconds(1));
  EXPECT_EQ(retry_after_in_progress(route, 3600, record, kThen), seconds(30));
}

TEST(RetryAfter, AnUnknownOutcomeIsAskedAboutLessOftenAsItAges) {
  const config::RouteConfig route;
  const Record record = record_of_then();
  EXPECT_EQ(retry_after_unknown(route, record, kThen), minutes(1));
  EXPECT_EQ(retry_after_unknown(route, record, kThen + minutes(4)), minutes(4));
  EXPECT_EQ(retry_after_unknown(route, record, kThen + minutes(60)), minutes(15));
}

TEST(RetryAfter, AClockThatWasSetBackCountsAsNoAge) {
  const config::RouteConfig route;
  const Record record = record_of_then();
  EXPECT_EQ(retry_after_in_progress(route, 2, record, kThen - minutes(9)), seconds(2));
  EXPECT_EQ(retry_after_unknown(route, record, kThen - minutes(9)), minutes(1));
}

TEST(RetryAfter, TheConfigurationDecidesIfItSaysSo) {
  config::RouteConfig route;
  route.retry_after = {.in_progress = seconds(7), .unknown = seconds(90)};
  const Record record = record_of_then();
  EXPECT_EQ(retry_after_in_progress(route, 10, record, kThen), seconds(7));
  EXPECT_EQ(retry_after_unknown(route, record, kThen + minutes(60)), seconds(90));
}

TEST(RetryAfter, IsWrittenInWholeSecondsAndNeverTooShort) {
  EXPECT_EQ(retry_after_text(milliseconds(0)), "1");
  EXPECT_EQ(retry_after_text(milliseconds(1001)), "2");
  EXPECT_EQ(retry_after_text(seconds(60)), "60");
}

}  // namespace
}  // namespace semel::execution
