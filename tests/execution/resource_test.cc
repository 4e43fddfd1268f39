#include "execution/resource.h"

#include <gtest/gtest.h>

namespace semel::execution {
namespace {

std::string by_pointer(const std::string& pointer, std::string_view body) {
  return find_resource_id({"charge", pointer}, {}, body);
}

TEST(Resource, IsFoundInTheBody) {
  EXPECT_EQ(by_pointer("/id", R"({"id":"ch_1"})"), "ch_1");
  EXPECT_EQ(by_pointer("/data/0/id", R"({"data":[{"id":42}]})"), "42");
  EXPECT_EQ(by_pointer("/id", R"({"id":18446744073709551615})"), "18446744073709551615");
  EXPECT_EQ(by_pointer("/id", R"({"id":-7})"), "-7");
  EXPECT_EQ(by_pointer("/id", R"({"id":184467440737095516150,"rate":1e400,"note":"\ud800"})"),
            "184467440737095516150");
}

TEST(Resource, IsEmptyWhereThereIsNone) {
  for (const char* body :
       {"", "not json", "{}", "[]", R"({"id":null})", R"({"id":{}})", R"({"id":1.5})",
        R"({"id":"a\nb"})", R"({"id":"ü"})", R"({"id":"a","id":"b"})"}) {
    EXPECT_EQ(by_pointer("/id", body), "") << body;
  }
  EXPECT_EQ(by_pointer("/id", R"({"id":")" + std::string(256, 'x') + "\"}"), "");
  EXPECT_EQ(by_pointer("/id", R"({"id":"x","fill":")" + std::string(2 << 20, 'x') + "\"}"), "");
  EXPECT_EQ(find_resource_id({"", ""}, {{"Location", "/1"}}, R"({"id":"x"})"), "");
}

TEST(Resource, IsFoundInAHeader) {
  const std::vector<Header> headers = {{"X-Other", "no"}, {"location", "/charges/1"}};
  EXPECT_EQ(find_resource_id({"charge", "Location"}, headers, "{}"), "/charges/1");
  EXPECT_EQ(find_resource_id({"charge", "X-None"}, headers, "{}"), "");
}

}  // namespace
}  // namespace semel::execution
