#include <gtest/gtest.h>

#include "http/retry_after.h"
#include "relay/backoff.h"
#include "relay/delivery.h"

namespace semel::relay {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Backoff, IsAnythingUpToACeilingThatDoubles) {
  const auto longest = [](int failures) {
    Duration most{0};
    for (std::uint64_t dice = 0; dice < 5000; ++dice) {
      most = std::max(most, backoff(milliseconds(100), seconds(1), failures, dice));
    }
    return most;
  };
  EXPECT_EQ(longest(1), milliseconds(100));
  EXPECT_EQ(longest(2), milliseconds(200));
  EXPECT_EQ(longest(4), milliseconds(800));
  EXPECT_EQ(longest(5), seconds(1));
  EXPECT_EQ(longest(1'000'000), seconds(1));
  EXPECT_EQ(backoff(milliseconds(100), seconds(1), 3, 0), milliseconds(0));
}

TEST(RetryAfter, IsSecondsOrADate) {
  const Time now = Time(seconds(784111777));  // Sun, 06 Nov 1994 08:49:37 GMT
  EXPECT_EQ(parse_retry_after("120", now), seconds(120));
  EXPECT_EQ(parse_retry_after("0", now), seconds(0));
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:50:37 GMT", now), seconds(60));
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:00:00 GMT", now), seconds(0));
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 2094 08:00:00 GMT", now), hours(1));
  EXPECT_EQ(parse_retry_after("999999", now), hours(1));
  for (const char* text : {"", "soon", "-1", "1.5", "99999999999999999999", "12 s",
                           "Sun, 06 Nov 1994 08:50:37 GMT and more"}) {
    EXPECT_EQ(parse_retry_after(text, now), std::nullopt) << text;
  }
}

TEST(DeliveryHeaders, AreAnObjectOfTexts) {
  EXPECT_EQ(*read_headers(R"({"A": "b", "C": "d"})"),
            (std::vector<Header>{{"A", "b"}, {"C", "d"}}));
  EXPECT_TRUE(read_headers("{}")->empty());
  EXPECT_FALSE(read_headers("[]"));
  EXPECT_FALSE(read_headers(R"({"A": 1})"));
  EXPECT_FALSE(read_headers("{"));
}

}  // namespace
}  // namespace semel::relay
