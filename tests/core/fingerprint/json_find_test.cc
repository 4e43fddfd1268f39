#include "core/fingerprint/json_find.h"

#include <gtest/gtest.h>

#include <string>

namespace semel::core {
namespace {

// "=text", "#digits", "absent", "other" or "unreadable".
std::string at(std::string_view pointer, std::string_view text) {
  const auto parsed = JsonPointer::parse(pointer);
  if (!parsed) return parsed.error();
  const JsonFound found = find_in_json(text, *parsed);
  if (const auto* value = std::get_if<json_found::Text>(&found)) return "=" + value->text;
  if (const auto* value = std::get_if<json_found::Number>(&found)) {
    return "#" + std::string(value->digits);
  }
  if (std::holds_alternative<json_found::Absent>(found)) return "absent";
  if (std::holds_alternative<json_found::Other>(found)) return "other";
  return "unreadable";
}

TEST(JsonFind, FollowsThePointer) {
  EXPECT_EQ(at("/k", R"({"k":"v"})"), "=v");
  EXPECT_EQ(at("/k", " { \"a\" : [ ] , \"k\" :\t\"v\" }\r\n"), "=v");
  EXPECT_EQ(
      at("/a/k", R"({"k":"1","b":{"k":"2"},"a":{"a":{"k":"3"},"k":"4"},"c":{"a":{"k":"5"}}})"),
      "=4");
  EXPECT_EQ(at("/a/1/k", R"({"a":[{"k":"0"},{"k":"1"},{"k":"2"}]})"), "=1");
  EXPECT_EQ(at("/1", R"(["a","b"])"), "=b");
  EXPECT_EQ(at("/1", R"({"1":"member"})"), "=member");
  EXPECT_EQ(at("/0/0/0", R"([[["x"],"y"],"z"])"), "=x");
  EXPECT_EQ(at("/a~1b/m~0n", R"({"a/b":{"m~n":"v"}})"), "=v");
  EXPECT_EQ(at("/", R"({"":"empty"})"), "=empty");
  EXPECT_EQ(at("/*", R"({"*":"star"})"), "=star");
}

TEST(JsonFind, TellsWhatIsThere) {
  EXPECT_EQ(at("/k", R"({"k":""})"), "=");
  EXPECT_EQ(at("/k", R"({"k":-12.5e+7})"), "#-12.5e+7");
  for (const char* other : {"null", "true", "false", "{}", "[]", R"({"k":"v"})", R"(["v"])"}) {
    EXPECT_EQ(at("/k", std::string(R"({"k":)") + other + "}"), "other") << other;
  }
  for (const char* without : {"{}", "[]", "1", "\"k\"", "null", R"({"K":"v"})", R"(["k","v"])",
                              R"({"a":{"k":"v"}})", R"([{"k":"v"}])"}) {
    EXPECT_EQ(at("/k", without), "absent") << without;
  }
  EXPECT_EQ(at("/k/a", R"({"k":"v"})"), "absent");
  EXPECT_EQ(at("/2", R"(["a","b"])"), "absent");
  EXPECT_EQ(at("/-", R"(["a","b"])"), "absent");
  EXPECT_EQ(at("/01", R"(["a","b"])"), "absent");
  EXPECT_EQ(at("/*", R"(["a","b"])"), "absent");
}

// The text of the value; "none": there is none, or it is uncertain.
std::string_view text_at(std::string_view pointer, std::string_view text) {
  return find_json_text(text, JsonPointer::parse(pointer).value()).value_or("none");
}

TEST(JsonFind, GivesTheTextOfAnyValueAsItIsWritten) {
  for (const char* value :
       {"null", "true", "false", "0", "-12.50e+700", "\"\"", R"("a\u0041\"}")", "{}", "[]", "[ ]",
        R"({ "k" : [1, {"k": 2}], "z": {} })", R"([[1], [[]], {"a": []}])"}) {
    EXPECT_EQ(text_at("/k", std::string(R"({"k":)") + value + "}"), value);
    EXPECT_EQ(text_at("/k", std::string("{\"a\":[{}], \"k\" : \n") + value + " ,\"b\":{}}"), value);
    EXPECT_EQ(text_at("/k/1", std::string(R"({"k":[{"k":0}, )") + value + ",3]}"), value);
  }
  EXPECT_EQ(text_at("/k/k", R"({"k":{"a":{"k":1},"k":{"b":2}}})"), R"({"b":2})");
  for (const char* without : {"", "{}", "[]", "{\"k\":}", "{\"k\":1", "{\"k\":1}x", "k=1",
                              "{\"k\":1,\"k\":1}", "{\"k\":\"\xff\"}"}) {
    EXPECT_EQ(text_at("/k", without), "none") << without;
  }
}

TEST(JsonFind, UndoesEscapes) {
  EXPECT_EQ(at("/k", R"({"\u006b":"\"\\\/\b\f\n\r\t\u00e9\u20AC\ud83d\ude00"})"),
            "=\"\\/\b\f\n\r\té€😀");
  EXPECT_EQ(at("/k", R"({"k":"\ud800x"})"), "=\xED\xA0\x80x");
  EXPECT_EQ(at("/k", R"({"k":"\ud800\u0041"})"),
            "=\xED\xA0\x80"
            "A");
  EXPECT_EQ(at("/k", R"({"k":"\udc00\ud800"})"), "=\xED\xB0\x80\xED\xA0\x80");
  EXPECT_EQ(at("/k", R"({"k":"a\u0000b"})"), std::string("=a\0b", 4));
}

TEST(JsonFind, WhatStandsBesideItIsNotConverted) {
  const std::string deep(20'000, '[');
  const std::string deep_end(20'000, ']');
  for (const std::string& beside :
       {std::string("18446744073709551616"), std::string("-9223372036854775809"),
        std::string("1e400"), std::string("1E-999999999999999999999"), std::string(5000, '9'),
        std::string(R"("\ud800")"), std::string(R"({"a":1,"a":2})"), deep + deep_end}) {
    EXPECT_EQ(at("/k", R"({"x":)" + beside + R"(,"k":"v"})"), "=v") << beside.substr(0, 30);
    EXPECT_EQ(at("/k", R"({"k":"v","x":)" + beside + "}"), "=v") << beside.substr(0, 30);
    EXPECT_EQ(at("/k", R"({"x":)" + beside + "}"), "absent") << beside.substr(0, 30);
  }
  EXPECT_EQ(at("/k", "\xEF\xBB\xBF{\"k\":\"v\"}"), "=v");
}

TEST(JsonFind, AMemberOnTheWayNamedTwiceIsUnreadable) {
  for (const char* text : {R"({"a":{"k":"1"},"a":{"k":"1"}})", R"({"a":{"k":"1"},"a":2})",
                           R"({"a":{"k":"1","k":"1"}})", R"({"a":{"k":"1"},"\u0061":{}})",
                           R"({"a":{"k":"1","x":{"k":"2"},"k":null}})"}) {
    EXPECT_EQ(at("/a/k", text), "unreadable") << text;
  }
  EXPECT_EQ(at("/a/k", R"({"b":1,"b":2,"a":{"k":"1","x":{"a":1,"a":2}}})"), "=1");
}

TEST(JsonFind, WhatBreaksTheGrammarIsUnreadable) {
  for (const std::string& text : {std::string(),
                                  std::string(" "),
                                  std::string("\xEF\xBB\xBF"),
                                  std::string("\xEF\xBB\xBF\xEF\xBB\xBF{}"),
                                  std::string("{"),
                                  std::string("}"),
                                  std::string("[}"),
                                  std::string("{]"),
                                  std::string("[1,]"),
                                  std::string("[,1]"),
                                  std::string("[1 2]"),
                                  std::string("{}{}"),
                                  std::string("{} x"),
                                  std::string("{,}"),
                                  std::string(R"({"k"})"),
                                  std::string(R"({"k":})"),
                                  std::string(R"({"k":"v",})"),
                                  std::string(R"({"k":"v"]})"),
                                  std::string(R"({k:"v"})"),
                                  std::string(R"({'k':'v'})"),
                                  std::string(R"({"k" "v"})"),
                                  std::string(R"({"k":"v)"),
                                  std::string(R"({"k":"v\)"),
                                  std::string(R"({"k":"\x"})"),
                                  std::string(R"({"k":"\u12"})"),
                                  std::string(R"({"k":"\u12g4"})"),
                                  std::string("{\"k\":\"\\u12"),
                                  std::string("{\"k\":\"a\nb\"}"),
                                  std::string("{\"k\":\"a\0b\"}", 11),
                                  std::string("{\"k\":\"v\"}\0", 10),
                                  std::string("{\"k\":\"\xff\"}"),
                                  std::string("{\"k\":\"\xED\xA0\x80\"}"),
                                  std::string("[01]"),
                                  std::string("[-]"),
                                  std::string("[+1]"),
                                  std::string("[1.]"),
                                  std::string("[.5]"),
                                  std::string("[1e]"),
                                  std::string("[1e+]"),
                                  std::string("[0x1]"),
                                  std::string("[NaN]"),
                                  std::string("[Infinity]"),
                                  std::string("[nul]"),
                                  std::string("[truee]"),
                                  std::string("[1]//c"),
                                  std::string("{\0\"k\":\"v\"}", 10)}) {
    EXPECT_EQ(at("/k", text), "unreadable") << text;
  }
}

}  // namespace
}  // namespace semel::core
