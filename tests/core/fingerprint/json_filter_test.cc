// include and exclude: which subtrees of a body count.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/fingerprint/canonical_json.h"
#include "core/fingerprint/json_pointer.h"

namespace semel::core {
namespace {

std::vector<JsonPointer> pointers(const std::vector<std::string>& texts) {
  std::vector<JsonPointer> parsed;
  for (const std::string& text : texts) parsed.push_back(JsonPointer::parse(text).value());
  return parsed;
}

struct Filtered {
  std::vector<std::string> include = {};
  std::vector<std::string> exclude = {};

  std::optional<std::string> operator()(std::string_view text) const {
    const auto form = canonical_json(text, {pointers(include), pointers(exclude)});
    EXPECT_TRUE(form) << text;
    return form;
  }
};

TEST(JsonFilter, HoldsBesideWhatStrictParsersRefuse) {
  const Filtered form{.exclude = {"/sent_at"}};
  for (const std::string beside : {"123456789012345678901234567890", "1e400", R"("\ud800")"}) {
    for (const std::string mark : {"", "\xef\xbb\xbf"}) {
      EXPECT_EQ(form(mark + R"({"sent_at":1,"x":)" + beside + "}"),
                form(mark + R"({"sent_at":2,"x":)" + beside + "}"))
          << beside;
    }
  }
}

TEST(JsonFilter, ExcludeDropsWhatIsVolatile) {
  const Filtered form{.exclude = {"/sent_at", "/items/*/ts", "/meta/trace~1id"}};
  const auto plain = form(R"({"id":1,"items":[{"n":1},{"n":2}],"meta":{}})");
  EXPECT_EQ(form(R"({"sent_at":5,"id":1,"items":[{"n":1},{"n":2}],"meta":{}})"), plain);
  EXPECT_EQ(form(R"({"id":1,"items":[{"n":1,"ts":8},{"ts":[9],"n":2}],"meta":{}})"), plain);
  EXPECT_EQ(form(R"({"id":1,"items":[{"n":1},{"n":2}],"meta":{"trace/id":"x"}})"), plain);

  EXPECT_NE(form(R"({"id":2,"items":[{"n":1},{"n":2}],"meta":{}})"), plain);
  EXPECT_NE(form(R"({"id":1,"items":[{"n":1},{"n":3}],"meta":{}})"), plain);
  EXPECT_NE(form(R"({"id":1,"items":[{"n":1},{"n":2}]})"), plain) << "meta itself counts";
  EXPECT_NE(form(R"({"id":1,"ts":8,"items":[{"n":1},{"n":2}],"meta":{}})"), plain);
  EXPECT_NE(form(R"({"id":1,"items":[{"n":1},{"n":2,"x":{"ts":8}}],"meta":{}})"), plain);
}

TEST(JsonFilter, ExcludeNamesElementsByPosition) {
  const Filtered second{.exclude = {"/1"}};
  EXPECT_EQ(second(R"(["a","b","c"])"), second(R"(["a",{"x":1},"c"])"));
  EXPECT_EQ(second(R"(["a","b"])"), second(R"(["a"])"));
  EXPECT_NE(second(R"(["a","b","c"])"), second(R"(["a","c"])"));
  EXPECT_NE(second(R"(["a","b","c"])"), second(R"(["a","b","d"])"));
  const Filtered every{.exclude = {"/*"}};
  EXPECT_EQ(every("[1,2]"), every("[]"));
  EXPECT_NE(every("[1,2]"), every("{}"));
  const Filtered eleventh{.exclude = {"/10"}};
  EXPECT_EQ(eleventh("[0,0,0,0,0,0,0,0,0,0,1]"), eleventh("[0,0,0,0,0,0,0,0,0,0,2]"));
  const Filtered no_index{.exclude = {"/01", "/-", "/18446744073709551616"}};
  EXPECT_NE(no_index("[0,1]"), no_index("[0,2]"));
}

TEST(JsonFilter, IncludeKeepsOnlyWhatMatters) {
  const Filtered form{.include = {"/amount", "/customer/id"}};
  const auto plain = form(R"({"amount":5,"customer":{"id":"c1"}})");
  EXPECT_EQ(form(R"({"x":1,"customer":{"name":"n","id":"c1"},"amount":5.0})"), plain);
  EXPECT_NE(form(R"({"amount":6,"customer":{"id":"c1"}})"), plain);
  EXPECT_NE(form(R"({"amount":5,"customer":{"id":"c2"}})"), plain);
  EXPECT_NE(form(R"({"amount":5})"), plain);
  EXPECT_EQ(form(R"({"amount":5,"customer":{"name":"n"}})"), form(R"({"amount":5})"));
  EXPECT_NE(form(R"({"amount":{"a":1}})"), form(R"({"amount":{"a":2}})")) << "the whole subtree";
}

TEST(JsonFilter, WhatIsIncludedKeepsItsPlace) {
  const Filtered either{.include = {"/a", "/b"}};
  EXPECT_NE(either(R"({"a":1})"), either(R"({"b":1})"));
  const Filtered elements{.include = {"/items/*/id"}};
  EXPECT_EQ(elements(R"({"items":[{"id":1,"t":5},{"id":2}],"n":0})"),
            elements(R"({"items":[{"id":1},{"t":6,"id":2}],"n":1})"));
  EXPECT_NE(elements(R"({"items":[{"id":1},{"id":2}]})"),
            elements(R"({"items":[{"id":2},{"id":1}]})"));
  EXPECT_NE(elements(R"({"items":[{"id":1},{}]})"), elements(R"({"items":[{},{"id":1}]})"));
}

// A typing error in the list must not make all bodies equal.
TEST(JsonFilter, IfNoIncludePointerMatchesTheWholeBodyCounts) {
  const Filtered typo{.include = {"/amuont"}};
  EXPECT_NE(typo(R"({"amount":1})"), typo(R"({"amount":2})"));
  EXPECT_EQ(typo(R"({"amount":1,"b":2})"), typo(R"({"b":2,"amount":1})"));
  EXPECT_NE(typo("1"), typo("2"));
  const Filtered still_excluded{.include = {"/amuont"}, .exclude = {"/ts"}};
  EXPECT_EQ(still_excluded(R"({"amount":1,"ts":1})"), still_excluded(R"({"amount":1,"ts":2})"));
}

TEST(JsonFilter, ExcludeIsAppliedAfterInclude) {
  const Filtered form{.include = {"/order"}, .exclude = {"/order/ts", "/other"}};
  EXPECT_EQ(form(R"({"order":{"n":1,"ts":1},"x":1})"), form(R"({"order":{"n":1},"x":2})"));
  EXPECT_NE(form(R"({"order":{"n":1,"ts":1}})"), form(R"({"order":{"n":2,"ts":1}})"));
  const Filtered inner{.include = {"/a/b/c"}, .exclude = {"/a/b"}};
  EXPECT_EQ(inner(R"({"a":{"b":{"c":1}},"x":1})"), inner(R"({"a":{"b":{"c":2}},"x":2})"));
}

TEST(JsonFilter, AStarIsEveryElementButOnlyTheMemberOfThatName) {
  const Filtered form{.exclude = {"/*/ts"}};
  EXPECT_EQ(form(R"([{"ts":1},{"ts":2}])"), form(R"([{"ts":3},{}])"));
  EXPECT_NE(form(R"({"a":{"ts":1}})"), form(R"({"a":{"ts":2}})"));
  EXPECT_EQ(form(R"({"*":{"ts":1}})"), form(R"({"*":{"ts":2}})"));
  const Filtered twice{.exclude = {"/*/*"}};
  EXPECT_EQ(twice("[[1,2],[3]]"), twice("[[],[4,5]]"));
  EXPECT_NE(twice("[[1,2],[3]]"), twice("[[1,2]]"));
}

TEST(JsonFilter, EscapedAndEmptyNamesAreFound) {
  const Filtered form{.exclude = {"/a~1b", "/c~0d", "/~01", "/", "//x", "/0"}};
  EXPECT_EQ(form(R"({"a/b":1,"c~d":1,"~1":1,"":{"x":1},"0":1,"k":1})"), form(R"({"k":1})"));
  EXPECT_NE(form(R"({"a~1b":1,"k":1})"), form(R"({"k":1})"));
}

TEST(JsonFilter, WhatIsFilteredMustBeValidAllTheSame) {
  const JsonFilter exclude{{}, pointers({"/x"})};
  const JsonFilter include{pointers({"/a"}), {}};
  for (const JsonFilter& filter : {exclude, include}) {
    EXPECT_FALSE(canonical_json(R"({"a":1,"x":{"d":1,"d":1}})", filter));
    EXPECT_FALSE(canonical_json(R"({"a":1,"x":01})", filter));
    EXPECT_FALSE(canonical_json(R"({"a":1,"x":1,"x":2})", filter));
  }
}

TEST(JsonPointer, ErrorsAreSentences) {
  EXPECT_TRUE(JsonPointer::parse("/a/b~0c/~1/*/0/"));
  EXPECT_NE(JsonPointer::parse("").error().find("whole body"), std::string::npos);
  EXPECT_NE(JsonPointer::parse("a/b").error().find("\"/a/b\""), std::string::npos);
  for (const char* text : {"/a~", "/a~2", "/~", "/~/a", "/a/b~x/c"}) {
    const auto pointer = JsonPointer::parse(text);
    ASSERT_FALSE(pointer) << text;
    EXPECT_NE(pointer.error().find("~0"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace semel::core
