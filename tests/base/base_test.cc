// Small helpers that many rooms share.
#include <gtest/gtest.h>

#include "base/backoff.h"
#include "base/hmac.h"
#include "base/percent.h"
#include "semel/record.h"

namespace semel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Backoff, DoublesUpToItsMaximumAndBeginsAnew) {
  Backoff pauses(milliseconds(100), milliseconds(350));
  for (const int expected : {100, 200, 350, 350}) {
    EXPECT_EQ(pauses.next(), milliseconds(expected));
  }
  pauses.reset();
  EXPECT_EQ(pauses.next(), milliseconds(100));
}

TEST(Backoff, AJitteredPauseIsAtLeastHalfOfIt) {
  milliseconds least = seconds(9);
  milliseconds most{0};
  for (std::uint64_t random = 0; random < 2000; ++random) {
    least = std::min(least, jittered(milliseconds(500), random));
    most = std::max(most, jittered(milliseconds(500), random));
  }
  EXPECT_EQ(least, milliseconds(250));
  EXPECT_EQ(most, milliseconds(500));
  EXPECT_EQ(jittered(milliseconds(0), 7), milliseconds(0));
}

TEST(Percent, EncodesAllButUnreservedCharacters) {
  EXPECT_EQ(percent_encoded("aZ09-._~"), "aZ09-._~");
  EXPECT_EQ(percent_encoded("a/b c%\xff+&="), "a%2Fb%20c%25%FF%2B%26%3D");
  EXPECT_EQ(percent_decoded("a%2fb%20c%25%FF+"), "a/b c%\xff+");
  for (const char* bad : {"%", "%4", "a%4", "%g0", "%0g"}) {
    EXPECT_EQ(percent_decoded(bad), std::nullopt) << bad;
  }
}

// RFC 4231, 4.3.
TEST(Hmac, IsTheOneOfTheStandard) {
  const auto digest = hmac_sha256("Jefe", "what do ya want for nothing?");
  EXPECT_EQ(RecordId{digest}.hex(),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(HmacSha256("Jefe").update("what do ya want ").update("for nothing?").finish(), digest);
}

}  // namespace
}  // namespace semel
