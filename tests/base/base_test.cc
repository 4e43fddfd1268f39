// Small helpers that many rooms share.
#include <gtest/gtest.h>

#include "base/array_text.h"
#include "base/backoff.h"
#include "base/hmac.h"
#include "base/names.h"
#include "base/percent.h"
#include "base/text.h"
#include "semel/driver/record.h"

namespace semel::base {
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

enum class Colour : std::uint8_t { red = 1, green, blue };

TEST(Backoff, DoublesUpToTheMostAndNeverWrapsRound) {
  EXPECT_EQ(jittered(backoff_after(1, seconds(1), seconds(300)), 0), seconds(1));
  EXPECT_EQ(jittered(backoff_after(2, seconds(1), seconds(300)), 0), seconds(2));
  EXPECT_EQ(jittered(backoff_after(5, seconds(1), seconds(300)), 0), seconds(16));
  EXPECT_EQ(jittered(backoff_after(10, seconds(1), seconds(300)), 0), seconds(300));
  EXPECT_EQ(jittered(backoff_after(UINT32_MAX, seconds(1), seconds(300)), 0), seconds(300));
}

TEST(Backoff, ChanceTakesAwayAtMostHalf) {
  for (std::uint64_t random = 0; random < 5000; random += 7) {
    const Duration pause = jittered(backoff_after(2, seconds(1), seconds(300)), random);
    EXPECT_GE(pause, seconds(1));
    EXPECT_LE(pause, seconds(2));
  }
  EXPECT_EQ(jittered(backoff_after(1, milliseconds(1), milliseconds(1)), 12345), milliseconds(1));
}

TEST(Names, AreFoundByValue) {
  constexpr auto kNames = base::names<Colour::blue>({
      {Colour::red, "red"},
      {Colour::green, "green"},
      {Colour::blue, "blue"},
  });
  EXPECT_EQ(kNames[Colour::red], "red");
  EXPECT_EQ(kNames[Colour::blue], "blue");
  EXPECT_EQ(kNames[Colour{0}], "invalid");
  EXPECT_EQ(kNames[Colour{4}], "invalid");
  // On this rests that a table with a missing name does not compile.
  static_assert(is_enumerator<Colour::blue>() && !is_enumerator<Colour{4}>());
}

TEST(ArrayText, QuotesTextsAndEscapesQuotes) {
  using Numbers = std::vector<std::int64_t>;
  using Texts = std::vector<std::string>;
  EXPECT_EQ(array_text(Numbers{}), "{}");
  EXPECT_EQ(array_text(Numbers{7, -1}), "{7,-1}");
  EXPECT_EQ(array_text(Texts{}), "{}");
  EXPECT_EQ(array_text(Texts{"", "a,b", R"(q"\)"}), R"({"","a,b","q\"\\"})");
}

TEST(Text, LosesItsLineEnds) {
  EXPECT_EQ(without_line_end("two\nlines\n\n"), "two\nlines");
  EXPECT_EQ(without_line_end("\n"), "");
  EXPECT_EQ(without_line_end("one"), "one");
}

TEST(Backoff, ADrawnPauseIsAnythingUpToALimitThatDoubles) {
  const auto longest = [](std::uint64_t failures) {
    milliseconds most{0};
    for (std::uint64_t random = 0; random < 5000; ++random) {
      const milliseconds limit = backoff_after(failures, milliseconds(100), seconds(1));
      most = std::max(most, drawn_up_to(limit, random));
    }
    return most;
  };
  EXPECT_EQ(longest(1), milliseconds(100));
  EXPECT_EQ(longest(2), milliseconds(200));
  EXPECT_EQ(longest(4), milliseconds(800));
  EXPECT_EQ(longest(5), seconds(1));
  EXPECT_EQ(longest(1'000'000), seconds(1));
  EXPECT_EQ(drawn_up_to(milliseconds(400), 0), milliseconds(0));
  EXPECT_EQ(drawn_up_to(milliseconds(0), 7), milliseconds(0));
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
}  // namespace semel::base
