#include <gtest/gtest.h>

#include "relay/delivery.h"

namespace semel::relay {
namespace {

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
