#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

namespace semel {

enum class KeyFormat { any, uuid, strong };

// The syntax a route asks of its keys.
struct KeyRules {
  std::size_t min_length = 1;
  std::size_t max_length = 255;
  KeyFormat format = KeyFormat::any;
};

// Reads one field value: an RFC 9651 String ("8e03…", escapes \" and \\) or the bare characters.
// Both give the same key. The error is a sentence for the client; it never repeats the value.
// Refused: empty or blank, too short or long, bytes outside printable ASCII, an unterminated or
// badly escaped string, anything after the closing quote (parameters, a list), a bare value with a
// comma or a quote in it.
std::expected<std::string, std::string> parse_key(std::string_view field_value,
                                                  const KeyRules& rules);

// The same rules for a key that comes from elsewhere (a JSON Pointer into the body): no quoting.
std::expected<std::string, std::string> check_key(std::string_view key, const KeyRules& rules);

}  // namespace semel
