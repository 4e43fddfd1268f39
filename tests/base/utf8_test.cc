#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace semel::base {
namespace {

TEST(PrintableUtf8, LeavesPlainTextAsItIs) {
  std::string ascii;
  for (int c = 0; c < 0x80; ++c) ascii.push_back(static_cast<char>(c));
  EXPECT_EQ(printable_utf8(ascii), ascii);
  EXPECT_EQ(printable_utf8(""), "");
  EXPECT_EQ(printable_utf8("\\xff"), "\\xff");
}

TEST(PrintableUtf8, LeavesTheFirstAndLastCharactersOfEveryLength) {
  for (const std::string text : {"\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xec\xbf\xbf",
                                 "\xed\x80\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf",
                                 "\xf0\x90\x80\x80", "\xf3\xbf\xbf\xbf", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(printable_utf8(text), text);
    const std::string among_others = "a" + text + "b";
    EXPECT_EQ(printable_utf8(among_others), among_others);
  }
  EXPECT_EQ(printable_utf8("J\u00f6rg \u20ac \U0001f600"), "J\u00f6rg \u20ac \U0001f600");
}

TEST(PrintableUtf8, ShowsSingleBytes) {
  EXPECT_EQ(printable_utf8("J\xf6rg"), "J\\xf6rg");
  EXPECT_EQ(printable_utf8("ten\xff"), "ten\\xff");
  EXPECT_EQ(printable_utf8("\x80\xbf"), "\\x80\\xbf");
  for (int c = 0x80; c < 0x100; ++c) {
    const std::string shown = printable_utf8(std::string(1, static_cast<char>(c)));
    EXPECT_EQ(shown.size(), 4U);
    EXPECT_EQ(std::stoi(shown.substr(2), nullptr, 16), c);
  }
}

TEST(PrintableUtf8, ShowsOverlongForms) {
  EXPECT_EQ(printable_utf8("\xc0\x80"), "\\xc0\\x80");
  EXPECT_EQ(printable_utf8("\xc1\xbf"), "\\xc1\\xbf");
  EXPECT_EQ(printable_utf8("\xe0\x9f\xbf"), "\\xe0\\x9f\\xbf");
  EXPECT_EQ(printable_utf8("\xf0\x8f\xbf\xbf"), "\\xf0\\x8f\\xbf\\xbf");
}

TEST(PrintableUtf8, ShowsSurrogatesAndWhatIsBeyondTheLastCharacter) {
  EXPECT_EQ(printable_utf8("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(printable_utf8("\xed\xbf\xbf"), "\\xed\\xbf\\xbf");
  EXPECT_EQ(printable_utf8("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable_utf8("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80");
}

TEST(PrintableUtf8, ShowsWhatIsCutOff) {
  EXPECT_EQ(printable_utf8("a\xc3"), "a\\xc3");
  EXPECT_EQ(printable_utf8("a\xe2\x82"), "a\\xe2\\x82");
  EXPECT_EQ(printable_utf8("a\xf0\x9f\x98"), "a\\xf0\\x9f\\x98");
}

TEST(PrintableUtf8, WhatFollowsABadByteIsReadAnew) {
  EXPECT_EQ(printable_utf8("\xe2\x82z"), "\\xe2\\x82z");
  EXPECT_EQ(printable_utf8("\xf0\x9f\xc3\xb6"), "\\xf0\\x9f\xc3\xb6");
  EXPECT_EQ(printable_utf8("\xc3\xc3\xb6\xb6"), "\\xc3\xc3\xb6\\xb6");
}

}  // namespace
}  // namespace semel::base
