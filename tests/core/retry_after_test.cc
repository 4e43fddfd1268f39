#include "core/retry_after.h"

#include <gtest/gtest.h>

namespace semel::core {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

TEST(RetryAfter, IsSecondsOrADate) {
  const Time now = Time(seconds(784111777));  // Sun, 06 Nov 1994 08:49:37 GMT
  EXPECT_EQ(parse_retry_after("120", now, hours(1)), seconds(120));
  EXPECT_EQ(parse_retry_after("0", now, hours(1)), seconds(0));
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:50:37 GMT", now, hours(1)), seconds(60));
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:00:00 GMT", now, hours(1)), seconds(0));
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 2094 08:00:00 GMT", now, hours(1)), hours(1));
  EXPECT_EQ(parse_retry_after("999999", now, hours(1)), hours(1));
  EXPECT_EQ(parse_retry_after("999999", now, hours(1000)), seconds(999999));
  for (const char* text : {"", "soon", "-1", "1.5", "99999999999999999999", "12 s",
                           "Sun, 06 Nov 1994 08:50:37 GMT and more"}) {
    EXPECT_EQ(parse_retry_after(text, now, hours(1)), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace semel::core
