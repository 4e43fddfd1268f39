// Random JSON values, spelled in many ways: one value has one canonical form, however it is
// spelled; two values have two.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "core/fingerprint/canonical_json.h"

namespace semel::core {
namespace {

struct Value {
  enum class Kind { literal, number, string, array, object };
  Kind kind = Kind::literal;
  std::string text;  // literal; the digits of a number, neither first nor last a zero; string
  int exponent = 0;
  std::vector<Value> children;
  std::string name;  // as a member of an object
};

class RandomJson {
 public:
  explicit RandomJson(unsigned seed) : random_(seed) {}

  Value value(int depth) {
    Value value;
    value.kind = static_cast<Value::Kind>(below(depth > 0 ? 5 : 3));
    switch (value.kind) {
      case Value::Kind::literal:
        value.text = std::vector<std::string>{"null", "true", "false"}[below(3)];
        break;
      case Value::Kind::number:
        value.text = digits();
        value.exponent = static_cast<int>(below(40)) - 20;
        break;
      case Value::Kind::string:
        value.text = word();
        break;
      case Value::Kind::array:
      case Value::Kind::object:
        for (std::size_t i = below(5); i > 0; --i) {
          value.children.push_back(this->value(depth - 1));
          value.children.back().name = fmt::format("{}{}", word(), i);
        }
        break;
    }
    return value;
  }

  std::string spell(const Value& value) { return white() + spell_bare(value) + white(); }

  // Makes `value` another one, somewhere inside.
  void change(Value& value) {
    if (!value.children.empty() && below(4) > 0) {
      change(value.children[below(value.children.size())]);
    } else {
      change_here(value);
    }
  }

  std::size_t below(std::size_t bound) { return random_() % bound; }

 private:
  std::string digits() {
    std::string digits(1, static_cast<char>('1' + below(9)));
    for (std::size_t i = below(25); i > 0; --i)
      digits.push_back(static_cast<char>('0' + below(10)));
    if (digits.back() == '0') digits.back() = '7';
    return digits;
  }

  std::string word() {
    static constexpr std::string_view kCharacters = "aA/\"\\\n\t {}[]:,0*~";
    std::string word;
    for (std::size_t i = below(6); i > 0; --i) {
      word.push_back(kCharacters[below(kCharacters.size())]);
    }
    return word;
  }

  std::string white() {
    std::string white;
    while (below(3) == 0) white.push_back(" \t\r\n"[below(4)]);
    return white;
  }

  std::string spell_bare(const Value& value) {
    switch (value.kind) {
      case Value::Kind::literal:
        return value.text;
      case Value::Kind::number:
        return spell_number(value.text, value.exponent);
      case Value::Kind::string:
        return spell_string(value.text);
      case Value::Kind::array:
        return "[" + spell_children(value, false) + "]";
      case Value::Kind::object:
        return "{" + spell_children(value, true) + "}";
    }
    return {};
  }

  std::string spell_children(const Value& value, bool named) {
    std::vector<const Value*> children;
    for (const Value& child : value.children) children.push_back(&child);
    if (named) std::ranges::shuffle(children, random_);
    std::string text = white();
    for (const Value* child : children) {
      if (child != children[0]) text.push_back(',');
      if (named) text.append(white() + spell_string(child->name) + white() + ":");
      text.append(spell(*child));
    }
    return text;
  }

  // The point anywhere in or around the digits, the exponent to suit.
  std::string spell_number(std::string digits, int exponent) {
    const std::size_t zeros = below(3);
    digits.append(zeros, '0');
    exponent -= static_cast<int>(zeros);
    const std::size_t behind_point = below(digits.size() + 3);
    exponent += static_cast<int>(behind_point);
    if (behind_point >= digits.size()) {
      digits.insert(0, behind_point - digits.size() + 1, '0');
    }
    if (behind_point > 0) digits.insert(digits.size() - behind_point, ".");
    if (exponent == 0 && below(2) == 0) return digits;
    return fmt::format("{}{}{}{}{}", digits, below(2) ? 'e' : 'E',
                       exponent < 0 ? "-" : (below(2) ? "+" : ""), std::string(below(2), '0'),
                       std::abs(exponent));
  }

  std::string spell_string(const std::string& string) {
    std::string text = "\"";
    for (char c : string) {
      const bool must_escape = c == '"' || c == '\\' || c < ' ';
      if (must_escape || below(4) == 0) {
        text.append(fmt::format("\\u{:04x}", static_cast<unsigned>(c)));
      } else if (c == '/' && below(2)) {
        text.append("\\/");
      } else {
        text.push_back(c);
      }
    }
    return text + "\"";
  }

  void change_here(Value& value) {
    switch (value.kind) {
      case Value::Kind::literal:
        value.text = value.text == "null" ? "true" : "null";
        break;
      case Value::Kind::number:
        if (below(2)) {
          value.exponent += 1;
        } else {
          value.text.insert(value.text.begin(), '3');
        }
        break;
      case Value::Kind::string:
        value.text.push_back('a');
        break;
      case Value::Kind::array:
      case Value::Kind::object:
        value.children.push_back(Value{.text = "null", .children = {}, .name = "one more"});
        break;
    }
  }

  std::mt19937 random_;
};

class JsonProperty : public ::testing::TestWithParam<unsigned> {};

TEST_P(JsonProperty, OneValueHasOneForm) {
  RandomJson random(GetParam());
  for (int round = 0; round < 200; ++round) {
    const Value value = random.value(5);
    const std::string text = random.spell(value);
    const auto form = canonical_json(text);
    ASSERT_TRUE(form) << text;
    for (int again = 0; again < 4; ++again) {
      const std::string other = random.spell(value);
      ASSERT_EQ(canonical_json(other), form) << text << "\n" << other;
    }
  }
}

TEST_P(JsonProperty, AnotherValueHasAnotherForm) {
  RandomJson random(GetParam());
  for (int round = 0; round < 500; ++round) {
    Value value = random.value(5);
    const std::string text = random.spell(value);
    random.change(value);
    const std::string other = random.spell(value);
    ASSERT_NE(canonical_json(other), canonical_json(text)) << text << "\n" << other;
  }
}

TEST_P(JsonProperty, WhatIsExcludedMayBeAnythingOrAbsent) {
  RandomJson random(GetParam());
  const JsonFilter filter{{}, {JsonPointer::parse("/volatile").value()}};
  for (int round = 0; round < 200; ++round) {
    Value value;
    value.kind = Value::Kind::object;
    value.children.push_back(random.value(4));
    value.children[0].name = "stable";
    const auto form = canonical_json(random.spell(value), filter);
    ASSERT_TRUE(form);
    value.children.push_back(random.value(4));
    value.children[1].name = "volatile";
    ASSERT_EQ(canonical_json(random.spell(value), filter), form);
    random.change(value.children[0]);
    ASSERT_NE(canonical_json(random.spell(value), filter), form);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, JsonProperty, ::testing::Values(1u, 2u, 3u, 2026u));

}  // namespace
}  // namespace semel::core
