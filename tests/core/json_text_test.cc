#include "core/json_text.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <limits>

namespace semel::core {
namespace {

namespace json = boost::json;

TEST(JsonText, NumbersHaveNoExponent) {
  EXPECT_EQ(json_text(86400.0), "86400");
  EXPECT_EQ(json_text(0.0), "0");
  EXPECT_EQ(json_text(1.005), "1.005");
  EXPECT_EQ(json_text(1.5), "1.5");
  EXPECT_EQ(json_text(-0.001), "-0.001");
  EXPECT_EQ(json_text(1e21), "1000000000000000000000");
  EXPECT_EQ(json_text(-7), "-7");
  EXPECT_EQ(json_text(std::uint64_t{18446744073709551615U}), "18446744073709551615");
}

TEST(JsonText, TheSmallestAndTheLargestNumbersAreReadBackAsTheyWere) {
  using Limits = std::numeric_limits<double>;
  for (const double number : {-Limits::denorm_min(), -Limits::min(), Limits::lowest(), 0.1}) {
    EXPECT_EQ(std::strtod(json_text(number).c_str(), nullptr), number);
  }
  EXPECT_EQ(json_text(Limits::infinity()), "null");
  EXPECT_EQ(json_text(Limits::quiet_NaN()), "null");
}

TEST(JsonText, EverythingElseIsAsBoostWritesIt) {
  const json::value value = {{"a \"key\"\n", {1, -2, true, nullptr, "t\x01\\"}},
                             {"empty", {{"list", json::array()}, {"map", json::object()}}}};
  EXPECT_EQ(json_text(value), json::serialize(value));
  EXPECT_EQ(json_text(json::array{1.5, json::array{2.0}, json::object{{"n", 3e2}}}),
            R"([1.5,[2],{"n":300}])");
}

}  // namespace
}  // namespace semel::core
