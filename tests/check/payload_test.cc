#include "check/payload.h"

#include <gtest/gtest.h>

#include <regex>

namespace semel::check {
namespace {

TEST(Payload, VariablesAreNewPerPayloadAndTheKeyPerRequest) {
  Payloads payloads;
  const std::string text = R"({"n":{{n}},"again":{{n}},"id":"{{uuid}}","key":"{{key}}"})";
  const std::string one = payloads.render(text);
  EXPECT_NE(one, payloads.render(text));
  const std::regex form(
      R"(\{"n":(\d+),"again":\1,"id":"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}","key":"k"\})");
  EXPECT_TRUE(std::regex_match(with_key(one, "k"), form)) << one;
}

TEST(Payload, AnotherPayloadHasAnotherNumberOrElseAnotherText) {
  EXPECT_EQ(varied_json(R"({"name":"a","rows":[{"amount":5}]})", 2),
            R"({"name":"a","rows":[{"amount":7}]})");
  EXPECT_EQ(varied_json(R"({"name":"a","of":true})", 3), R"({"name":"axxx","of":true})");
  EXPECT_EQ(varied_json(R"({"of":true})", 1), std::nullopt);
  EXPECT_EQ(varied_json("amount=5", 1), std::nullopt);
}

TEST(Payload, MembersAreWrittenInReverse) {
  EXPECT_EQ(reordered_json(R"({"a\"":1,"b":{"c":2}})"), R"({"b":{"c":2},"a\"":1})");
  EXPECT_EQ(reordered_json(R"({"a":1})"), std::nullopt);
  EXPECT_EQ(reordered_json("[1,2]"), std::nullopt);
}

}  // namespace
}  // namespace semel::check
