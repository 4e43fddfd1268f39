#include "semel/key.h"

#include <gtest/gtest.h>

namespace semel::core {
namespace {

constexpr std::string_view kUuid = "8e03978e-40d5-43dd-bc93-6894a57f9324";

TEST(ParseKey, QuotedAndBareAreTheSameKey) {
  struct {
    std::string_view field_value;
    std::string_view key;
  } const cases[] = {
      {"8e03978e", "8e03978e"},
      {"\"8e03978e\"", "8e03978e"},
      {" \t8e03978e\t ", "8e03978e"},
      {" \"8e03978e\" ", "8e03978e"},
      {"a", "a"},
      {"order 17", "order 17"},
      {"\"order 17\"", "order 17"},
      {"a;b=c", "a;b=c"},
      {"a\\b", "a\\b"},
      {R"("a\\b")", "a\\b"},
      {R"("a\"b")", "a\"b"},
      {"\"a,b\"", "a,b"},
      {"\" a \"", " a "},
      {"!~", "!~"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(parse_key(c.field_value, {}), std::string(c.key)) << c.field_value;
  }
}

TEST(ParseKey, KeysThatLookAlikeAreDifferent) {
  EXPECT_NE(parse_key("abc", {}), parse_key("ABC", {}));
  EXPECT_NE(parse_key("\"abc \"", {}), parse_key("abc", {}));
}

TEST(ParseKey, SaysWhatIsWrong) {
  struct {
    std::string_view field_value;
    std::string_view says;
  } const cases[] = {
      {"", "empty"},
      {" \t ", "empty"},
      {"\"\"", "empty"},
      {"\"   \"", "blank"},
      {"\"abc", "does not end"},
      {"\"", "does not end"},
      {"\"abc\\", "does not end"},
      {"\"abc\\\"", "does not end"},
      {R"("a\bc")", "backslash"},
      {"\"abc\";v=1", "parameters; send the key alone"},
      {"\"abc\" ;v=1", "parameters; send the key alone"},
      {"\"abc\", \"def\"", "more than one key"},
      {"\"abc\"def", "send the key alone"},
      {"\"abc\"\"def\"", "send the key alone"},
      {"abc, def", "comma"},
      {"abc,", "comma"},
      {"ab\"c", "double quote"},
      {"abc\"", "double quote"},
      {"a\tb", "printable ASCII"},
      {"a\nb", "printable ASCII"},
      {"a\x7f", "printable ASCII"},
      {"caf\xc3\xa9", "printable ASCII"},
      {"\"caf\xc3\xa9\"", "printable ASCII"},
      {std::string_view("a\0b", 3), "printable ASCII"},
  };
  for (const auto& c : cases) {
    const auto key = parse_key(c.field_value, {});
    ASSERT_FALSE(key) << c.field_value;
    EXPECT_NE(key.error().find(c.says), std::string::npos) << c.field_value << ": " << key.error();
  }
}

TEST(ParseKey, TheErrorNeverRepeatsTheValue) {
  for (std::string_view value : {"\"s3cret\";v=1", "s3cret,s3cret", "\"s3cret", "s3cret\x01"}) {
    const auto key = parse_key(value, {});
    ASSERT_FALSE(key);
    EXPECT_EQ(key.error().find("s3cret"), std::string::npos) << key.error();
  }
  for (KeyFormat format : {KeyFormat::uuid, KeyFormat::strong}) {
    EXPECT_EQ(parse_key("s3cret", {.format = format}).error().find("s3cret"), std::string::npos);
  }
}

TEST(ParseKey, LengthIsCountedInCharactersOfTheKeyNotOfTheField) {
  const KeyRules rules{.min_length = 3, .max_length = 5};
  EXPECT_FALSE(parse_key("ab", rules));
  EXPECT_TRUE(parse_key("abc", rules));
  EXPECT_TRUE(parse_key("  \"abcde\"  ", rules));
  EXPECT_TRUE(parse_key(R"("\"\"\"\"\"")", rules));
  EXPECT_FALSE(parse_key("\"ab\"", rules));
  EXPECT_EQ(parse_key("abcdef", rules).error(), "The key is longer than 5 characters.");
  EXPECT_EQ(parse_key("ab", rules).error(), "The key is shorter than 3 characters.");
}

TEST(ParseKey, TakesUpTo255CharactersByDefault) {
  EXPECT_TRUE(parse_key(std::string(255, 'k'), {}));
  EXPECT_FALSE(parse_key(std::string(256, 'k'), {}));
  EXPECT_FALSE(parse_key(std::string(64 << 10, 'k'), {}));
}

TEST(ParseKey, UuidFormat) {
  const KeyRules rules{.format = KeyFormat::uuid};
  EXPECT_EQ(parse_key(kUuid, rules), std::string(kUuid));
  EXPECT_TRUE(parse_key("\"8E03978E-40D5-43DD-BC93-6894A57F9324\"", rules));
  for (std::string_view value :
       {"8e03978e40d543ddbc936894a57f9324", "8e03978e-40d5-43dd-bc93-6894a57f932",
        "8e03978e-40d5-43dd-bc93-6894a57f93244", "8e03978e-40d5-43dd-bc93-6894a57f932g",
        "8e03978e-40d5-43ddb-c93-6894a57f9324", "{8e03978e-40d5-43dd-bc93-6894a57f9324}",
        "8e03978e-40d5-43dd-bc93_6894a57f9324"}) {
    EXPECT_FALSE(parse_key(value, rules)) << value;
  }
}

TEST(ParseKey, StrongFormatRefusesWhatCanBeGuessed) {
  struct {
    std::string_view key;
    bool strong;
  } const cases[] = {
      {kUuid, true},                              // 32 hexadecimal digits: 128 bits
      {"V1StGXR8_Z5jdHi6B-myTq", true},           // 22 of base64url
      {"01ARZ3NDEKTSV4RRFFQ69G5FAV", true},       // ULID
      {"8e03978e40d543ddbc936894a57f", true},     // 28 hexadecimal digits: 112 bits
      {"8e03978e40d543ddbc936894", false},        // 24: 96 bits
      {"1234567890123456789012345678901", true},  // 31 digits: 103 bits
      {"123456789012345678901234567890", false},  // 30: 99.7 bits
      {"V1StGXR8_Z5jdHi6B-myT", false},           // 21 characters
      {"order-1", false},
      {"2024-01-01T00:00:00.000Z", false},  // 24 characters, a third punctuation
      {"----------------------------------------", false},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(parse_key(c.key, {.format = KeyFormat::strong}).has_value(), c.strong) << c.key;
  }
}

TEST(CheckKey, TakesTheCharactersAsTheyAre) {
  EXPECT_EQ(check_key("\"abc\"", {}), "\"abc\"");
  EXPECT_EQ(check_key("a,b", {}), "a,b");
  EXPECT_EQ(check_key(" a ", {}), " a ");
}

TEST(CheckKey, HasTheSameRules) {
  EXPECT_FALSE(check_key("", {}));
  EXPECT_FALSE(check_key("   ", {}));
  EXPECT_FALSE(check_key("a\tb", {}));
  EXPECT_FALSE(check_key("caf\xc3\xa9", {}));
  EXPECT_FALSE(check_key(std::string(256, 'k'), {}));
  EXPECT_FALSE(check_key("ab", {.min_length = 3}));
  EXPECT_FALSE(check_key("abc", {.format = KeyFormat::uuid}));
  EXPECT_FALSE(check_key("abc", {.format = KeyFormat::strong}));
}

}  // namespace
}  // namespace semel::core
