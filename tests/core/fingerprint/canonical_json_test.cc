#include "core/fingerprint/canonical_json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace semel::core {
namespace {

using namespace std::chrono_literals;

// Generous, for sanitizers on a busy machine: what is quadratic here takes minutes.
constexpr auto kReasonable = 10s;

std::string repeat(std::string_view text, std::size_t times) {
  std::string repeated;
  for (std::size_t i = 0; i < times; ++i) repeated.append(text);
  return repeated;
}

std::string nested_arrays(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(CanonicalJson, SpellingDoesNotMatter) {
  const std::vector<std::vector<std::string_view>> groups = {
      {"{\"a\":1,\"b\":2}", " { \"b\" : 2 ,\r\n\t\"a\" : 1 } "},
      {R"({"a":{"y":1,"x":[{"q":1,"p":2}]},"":0})", R"({"":0,"a":{"x":[{"p":2,"q":1}],"y":1}})"},
      {R"("A")", R"("\u0041")"},
      {R"("/")", R"("\/")", R"("\u002f")", R"("\u002F")"},
      {R"("\b\f\n\r\t\"\\")", R"("\u0008\u000c\u000a\u000d\u0009\u0022\u005c")"},
      {"\"\xc3\xa9\"", R"("\u00e9")"},
      {"\"\xf0\x9f\x98\x80\"", R"("\ud83d\ude00")", R"("\uD83D\uDE00")"},
      {R"({"A":1})", R"({"\u0041":1})"},
      {"[ ]", "[]"},
      {"{ }", "{}"},
      {" true ", "true"},
      {"null\n", "null"},
  };
  for (const auto& group : groups) {
    const auto expected = canonical_json(group[0]);
    ASSERT_TRUE(expected) << group[0];
    for (std::string_view text : group) EXPECT_EQ(canonical_json(text), expected) << text;
  }
}

TEST(CanonicalJson, MeaningDoes) {
  // clang-format off
  const std::vector<std::string_view> texts = {
      "null", "true", "false", "0", "1", "-1", "10", "\"\"", "\"null\"", "\"true\"", "\"0\"",
      "\"1\"", "\"{}\"", "\"[]\"", "\"n\"", "[]", "{}", "[[]]", "[{}]", "[null]", "[0]", "[\"0\"]",
      "[1]", "[1,1]", "[1,2]", "[2,1]", "[12]", "[[1],2]", "[1,[2]]", "[[1,2]]", "[[],[]]",
      "[[[]]]", R"({"a":1})", R"({"a":"1"})", R"({"a":null})", R"({"":null})", R"({"b":1})",
      R"({"A":1})", R"({"a":{}})", R"({"a":[]})", R"({"a":[1]})", R"({"a":1,"b":2})",
      R"({"a":2,"b":1})", R"({"a":{"b":2}})", R"([{"a":1},{"b":2}])", R"([{"a":1,"b":2}])",
      R"([{"b":2},{"a":1}])", R"(["a","b"])", R"(["ab"])", R"(["a\",\"b"])", R"("a")", R"("A")",
      R"("a ")", R"(" a")", R"("a\u0000")", R"("\u00e9")", R"("e\u0301")",
  };
  // clang-format on
  std::set<std::string> forms;
  for (std::string_view text : texts) {
    const auto form = canonical_json(text);
    ASSERT_TRUE(form) << text;
    EXPECT_TRUE(forms.insert(*form).second) << text << " has the form of another";
  }
}

TEST(CanonicalJson, NumbersAreComparedByExactDecimalValue) {
  const std::vector<std::vector<std::string>> values = {
      {"0", "-0", "0.0", "-0.000", "0e0", "0E+99", "0e-99", "0e99999999999999999999999"},
      {"1", "1.0", "1e0", "1E0", "1e+0", "1e-0", "10e-1", "0.1e1", "1.000", "100e-2", "1e000",
       "0.00001e5", "1e00000000000000000000000000000000"},
      {"-1", "-1.0", "-10e-1"},
      {"10", "1e1", "1E+1", "0.1e2", "10.0", "100e-1"},
      {"100", "1e2", "1.00e2"},
      {"0.1", "1e-1", "0.10", "0.01e1", "10e-2"},
      {"0.01", "1e-2"},
      {"12.5", "1.25e1", "125e-1", "12.50", "0.125e2"},
      {"9007199254740992"},
      {"9007199254740993", "9007199254740993.0", "9.007199254740993e15"},
      {"18446744073709551615"},
      {"18446744073709551616", "1844674407370955161600e-2"},
      {"123456789012345678901234567890", "1.2345678901234567890123456789e29"},
      {"123456789012345678901234567891"},
      {"0.1000000000000000055511151231257827"},
      {"1e400", "10e399", "0.1e401", "1" + std::string(400, '0')},
      {"1e401"},
      {"1e-400", "0.1e-399", "0." + std::string(399, '0') + "1"},
      {"1e2147483648", "10e2147483647"},
      {"1e999999999999999999"},
      {"1e-999999999999999999"},
      {"1e999999999999999998"},
      {"0.1e-999999999999999999"},
  };
  std::set<std::string> forms;
  for (const auto& spellings : values) {
    const auto expected = canonical_json(spellings[0]);
    ASSERT_TRUE(expected) << spellings[0];
    EXPECT_TRUE(forms.insert(*expected).second) << spellings[0] << " has the form of another";
    for (const std::string& text : spellings) {
      EXPECT_EQ(canonical_json(text), expected) << text;
      EXPECT_EQ(canonical_json("[" + text + " ]"), canonical_json("[" + spellings[0] + "]"))
          << text;
    }
  }
}

TEST(CanonicalJson, AnExponentNobodyCanMeanIsNotRead) {
  EXPECT_FALSE(canonical_json("1e1000000000000000000"));
  EXPECT_FALSE(canonical_json("[1e-" + std::string(100'000, '9') + "]"));
}

TEST(CanonicalJson, TakesOnlyValidJson) {
  // clang-format off
  const std::vector<std::string_view> texts = {
      "", " ", "x", "tru", "True", "nul", "nulll", "NaN", "Infinity", "-Infinity", "undefined",
      "'a'", "{a:1}", "{'a':1}", "// x\n1", "1 // x", "/**/1", "[", "]", "{", "}", "[[]", "[]]",
      "[}", "{]", "[1}", "{\"a\":1]", "{}{}", "1 2", "1,2", "1],[2", "[1],[2", "]1[", "{\"a\":1}{",
      "\"a\" \"b\"", "{},", ",{}", "[1,]", "[,1]", "[1,,2]", "[1 2]", "[1\"a\"]", "[\"a\"1]",
      "[\"a\"\"b\"]", "[truefalse]", "{\"a\":1,}", "{,\"a\":1}", "{\"a\"}", "{\"a\":}", "{\"a\" 1}",
      "{\"a\"::1}", "{1:1}", "{\"a\":1 \"b\":2}", "{\"a\":1,\"b\"}", "{null:1}", "[:]", "[\"a\":1]",
      "-", "+1", "01", "-01", "00", "1.", ".5", "-.5", "1e", "1e+", "1.e1", "1.5.5", "1e5.5",
      "0x10", "1_000", "1 000", "--1", "1-", "1e5e5", "\"", "\"a", "\"\\\"", "\"\\x\"", "\"\\u12\"",
      "\"\\u12g4\"", "\"\\U0041\"", "\"a\tb\"", "\"a\nb\"", "\"\\\n\"",
      std::string_view("\"\0\"", 3), std::string_view("1\0", 2),
      R"("\ud800\x")", R"("\ud83d\uzzzz")", "\"\xff\"", "\"\xc3\"",
      "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\"", "\xff", "1\xff",
      "\xef\xbb\xbf", "\xef\xbb\xbf\xef\xbb\xbf{}", R"(["\ud800"1])", R"({"\ud800"1:2})",
  };
  // clang-format on
  for (std::string_view text : texts) EXPECT_FALSE(canonical_json(text)) << text;
}

TEST(CanonicalJson, HalfOfASurrogatePairIsTheBytesItWouldHave) {
  const std::vector<std::string_view> texts = {
      R"("\ud800")",       R"("\udc00")",       R"("\udc00\ud800")",    R"("\ud800\u0041")",
      R"("\ud800\ud800")", R"("\ud800x")",      R"("x\udfff")",         R"({"\ud800":1})",
      R"({"\udc00":1})",   R"(["\ud800","a"])", R"({"a":"\ud800\"b"})", R"("\ud800\udc00")"};
  std::set<std::string> forms;
  for (std::string_view text : texts) {
    const auto form = canonical_json(text);
    ASSERT_TRUE(form) << text;
    EXPECT_TRUE(forms.insert(*form).second) << text;
    EXPECT_EQ(canonical_json(text, {}, 1).has_value(), text == R"("\ud800\udc00")") << text;
  }
  EXPECT_EQ(canonical_json(R"({"a":1,"\uD800":[]})"),
            canonical_json(R"({"\ud800":[],"\u0061":1})"));
  EXPECT_FALSE(canonical_json(R"({"\uD800":1,"\ud800":1})"));
}

TEST(CanonicalJson, AByteOrderMarkCounts) {
  const std::string plain = canonical_json("{\"a\":1}").value();
  EXPECT_EQ(canonical_json("\xef\xbb\xbf{\"a\":1.0}"), "b" + plain);
  EXPECT_FALSE(canonical_json("\xef\xbb\xbf{\"a\":1}", {}, 1));
}

TEST(CanonicalJson, AMemberTwiceIsAmbiguous) {
  EXPECT_FALSE(canonical_json(R"({"a":1,"a":2})"));
  EXPECT_FALSE(canonical_json(R"({"a":1,"a":1})"));
  EXPECT_FALSE(canonical_json(R"({"a":1,"b":2,"\u0061":1})"));
  EXPECT_FALSE(canonical_json(R"({"b":1,"a":2,"b":1})"));
  EXPECT_FALSE(canonical_json(R"([0,{"x":[{"":1,"":1}]}])"));
  EXPECT_TRUE(canonical_json(R"({"a":{"a":[{"a":1},{"a":1}]}})"));
  EXPECT_TRUE(canonical_json(R"({"a":1,"A":1,"a ":1})"));
}

TEST(CanonicalJson, NestingIsBounded) {
  EXPECT_TRUE(canonical_json(nested_arrays(kJsonDepthMax)));
  EXPECT_FALSE(canonical_json(nested_arrays(kJsonDepthMax + 1)));
  EXPECT_TRUE(canonical_json(repeat("{\"a\":", kJsonDepthMax) + "1" + repeat("}", kJsonDepthMax)));
  EXPECT_FALSE(
      canonical_json(repeat("[{\"a\":", kJsonDepthMax) + "1" + repeat("}]", kJsonDepthMax)));
}

TEST(CanonicalJson, HostileNestingIsRefusedBeforeTheStackEnds) {
  EXPECT_FALSE(canonical_json(nested_arrays(100'000)));
  EXPECT_FALSE(canonical_json(std::string(100'000, '[')));
  EXPECT_FALSE(canonical_json(repeat("{\"a\":", 100'000) + "1" + repeat("}", 100'000)));
}

TEST(CanonicalJson, ATextBeyondTheLimitIsNotRead) {
  EXPECT_FALSE(canonical_json(std::string(kJsonTextBytesMax, ' ') + "1"));
}

TEST(CanonicalJson, LargeAndSmallTextsHaveOneForm) {
  const std::string white(1 << 20, ' ');
  EXPECT_EQ(canonical_json("{\"b\":[1,2]," + white + "\"a\":1}"),
            canonical_json("{\"a\":1,\"b\":[1,2]}"));
}

TEST(CanonicalJson, TheFormOfSomethingLongIsShortAndStillExact) {
  const std::string tail(5000, 'x');
  const auto body = [&](std::string_view first, std::string_view last) {
    return std::string("{\"list\":[")
        .append(first)
        .append(",\"")
        .append(tail)
        .append(last)
        .append("\"],\"id\":7}");
  };
  const auto form = canonical_json(body("1", "y"));
  ASSERT_TRUE(form);
  EXPECT_LT(form->size(), 300u);
  EXPECT_EQ(canonical_json(R"({"id":7.0,"list":[1e0,")" + tail + R"(y"]})"), form);
  EXPECT_NE(canonical_json(body("2", "y")), form);
  EXPECT_NE(canonical_json(body("1", "z")), form);
}

TEST(CanonicalJson, SortsAHundredThousandMembersInReasonableTime) {
  std::vector<std::string> members;
  for (int i = 0; i < 100'000; ++i) {
    members.push_back("\"name" + std::to_string(i) + "\":" + std::to_string(i));
  }
  const auto join = [&] {
    std::string text = "{";
    for (const std::string& member : members) text.append(member).push_back(',');
    text.back() = '}';
    return text;
  };
  const auto start = std::chrono::steady_clock::now();
  const auto form = canonical_json(join());
  ASSERT_TRUE(form);
  std::ranges::shuffle(members, std::mt19937(17));
  EXPECT_EQ(canonical_json(join()), form);
  members.back() = "\"name0\":0";
  EXPECT_NE(canonical_json(join()), form);
  EXPECT_LT(std::chrono::steady_clock::now() - start, kReasonable);
}

// Were each level to copy what lies below it, this would move 6 GB.
TEST(CanonicalJson, DeepAndLargeAtOnceIsNoTrap) {
  const auto timed = [](const std::string& text, std::optional<std::string>& form) {
    const auto start = std::chrono::steady_clock::now();
    form = canonical_json(text);
    return std::chrono::steady_clock::now() - start;
  };
  const std::size_t levels = kJsonDepthMax - 1;
  const std::string core = "[\"" + std::string(6 << 20, 'x') + "\"]";
  std::optional<std::string> flat, deep, sorted;
  const auto flat_time = timed(core, flat);
  const auto deep_time =
      timed(repeat("{\"b\":", levels) + core + repeat(",\"a\":0}", levels), deep);
  timed(repeat("{\"a\":0,\"b\":", levels) + core + repeat("}", levels), sorted);
  EXPECT_TRUE(flat);
  EXPECT_TRUE(deep);
  EXPECT_EQ(deep, sorted);
  EXPECT_LT(deep_time, 10 * flat_time + 100ms);
}

}  // namespace
}  // namespace semel::core
