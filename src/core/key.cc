#include "semel/key.h"

#include <cmath>

#include "base/text.h"

namespace semel {
namespace {

using Refused = std::unexpected<std::string>;

constexpr std::size_t kStrongCharactersMin = 22;  // 128 bits in base64
constexpr double kStrongBitsMin = 100;

bool is_printable_ascii(char c) {
  return c >= ' ' && c <= '~';
}
bool is_between(char c, char first, char last) {
  return c >= first && c <= last;
}
bool is_hex_digit(char c) {
  return is_between(c, '0', '9') || is_between(c, 'a', 'f') || is_between(c, 'A', 'F');
}

bool is_uuid(std::string_view key) {
  if (key.size() != 36) return false;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? key[i] != '-' : !is_hex_digit(key[i])) return false;
  }
  return true;
}

// Returns an upper bound for the random bits in a key, judged by its length and by the kinds of
// characters in it: digits, a–f and g–z, each case separately, so that hexadecimal counts 4 bits
// per digit and base64 slightly less than 6. Punctuation counts nothing, since it mostly separates.
// Tells a counter or a word from a random key, but does not detect clever patterns.
double random_bits_at_most(std::string_view key) {
  struct Kind {
    char first, last;
    bool used;
  };
  Kind kinds[] = {{'0', '9', false},
                  {'a', 'f', false},
                  {'g', 'z', false},
                  {'A', 'F', false},
                  {'G', 'Z', false}};
  double counted = 0;
  for (char c : key) {
    for (Kind& kind : kinds) {
      if (!is_between(c, kind.first, kind.last)) continue;
      kind.used = true;
      ++counted;
    }
  }
  double alphabet = 0;
  for (const Kind& kind : kinds) {
    if (kind.used) alphabet += kind.last - kind.first + 1;
  }
  return counted == 0 ? 0 : counted * std::log2(alphabet);
}

bool is_strong(std::string_view key) {
  return key.size() >= kStrongCharactersMin && random_bits_at_most(key) >= kStrongBitsMin;
}

// `text` begins with a double quote.
std::expected<std::string, std::string> parse_string(std::string_view text) {
  std::string key;
  std::size_t i = 1;
  for (; i < text.size() && text[i] != '"'; ++i) {
    if (text[i] == '\\') {
      ++i;
      if (i == text.size()) break;
      if (text[i] != '"' && text[i] != '\\') {
        return Refused(
            "In the quoted key a backslash may only precede a double quote or a backslash.");
      }
    }
    key.push_back(text[i]);
  }
  if (i >= text.size()) {
    return Refused("The key begins with a double quote but does not end with one.");
  }
  const std::string_view rest = base::trim(text.substr(i + 1));
  if (rest.empty()) return key;
  if (rest[0] == ';') return Refused("The key has parameters; send the key alone.");
  if (rest[0] == ',') return Refused("There is more than one key; send one.");
  return Refused("Something follows the quoted key; send the key alone.");
}

}  // namespace

std::expected<std::string, std::string> parse_key(std::string_view field_value,
                                                  const KeyRules& rules) {
  const std::string_view value = base::trim(field_value);
  if (value.starts_with('"')) {
    const auto key = parse_string(value);
    return key ? check_key(*key, rules) : key;
  }
  if (value.contains(',')) {
    return Refused("The key has a comma; send one key, or put it in double quotes.");
  }
  if (value.contains('"')) {
    return Refused("The key has a double quote; put the whole key in double quotes.");
  }
  return check_key(value, rules);
}

std::expected<std::string, std::string> check_key(std::string_view key, const KeyRules& rules) {
  bool blank = true;
  for (char c : key) {
    if (!is_printable_ascii(c)) {
      return Refused("The key may contain only printable ASCII characters.");
    }
    blank &= c == ' ';
  }
  if (blank) return Refused(key.empty() ? "The key is empty." : "The key is blank.");
  if (key.size() < rules.min_length) {
    return Refused("The key is shorter than " + std::to_string(rules.min_length) + " characters.");
  }
  if (key.size() > rules.max_length) {
    return Refused("The key is longer than " + std::to_string(rules.max_length) + " characters.");
  }
  if (rules.format == KeyFormat::uuid && !is_uuid(key)) {
    return Refused("The key is not a UUID (8-4-4-4-12 hexadecimal digits).");
  }
  if (rules.format == KeyFormat::strong && !is_strong(key)) {
    return Refused("The key is too easy to guess; use a random UUID or 22 random characters.");
  }
  return std::string(key);
}

}  // namespace semel
