#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

// Reads the Idempotency-Key of a request:
//
//   const auto key = parse_key(request["Idempotency-Key"], {.format = KeyFormat::uuid});
//   if (!key) return bad_request(key.error());
//   charge(*key);
namespace semel {

enum class KeyFormat { any, uuid, strong };

// The syntax that a route requires of its keys.
struct KeyRules {
  std::size_t min_length = 1;
  std::size_t max_length = 255;
  KeyFormat format = KeyFormat::any;
};

// Parses one field value: an RFC 9651 String ("8e03…", escapes \" and \\) or the bare characters.
// Both forms give the same key. The error is a sentence for the client and never repeats the value.
// Refuses a value that is empty or blank, too short or too long; bytes outside printable ASCII; an
// unterminated or badly escaped string; anything after the closing quote (parameters, a list); a
// bare value that contains a comma or a quote.
std::expected<std::string, std::string> parse_key(std::string_view field_value,
                                                  const KeyRules& rules);

// Applies the same rules to a key that comes from elsewhere (a JSON Pointer into the body) and is
// not quoted.
std::expected<std::string, std::string> check_key(std::string_view key, const KeyRules& rules);

}  // namespace semel
