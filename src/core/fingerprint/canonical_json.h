#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fingerprint/json_pointer.h"
#include "semel/driver/fingerprint.h"

namespace semel::core {

// Selects the subtrees of a JSON text that count.
struct JsonFilter {
  std::vector<JsonPointer> include;  // empty, or none matches: everything
  std::vector<JsonPointer> exclude;  // applied after `include`
};

// Limits beyond which a text is not read as JSON. Part of what a fingerprint means: changing one
// turns honest retries of such bodies into mismatches.
inline constexpr std::size_t kJsonDepthMax = 512;
inline constexpr std::size_t kJsonTextBytesMax = std::size_t{8} << 20;

// Returns the canonical form of a JSON text: two texts have the same form exactly if they mean the
// same. White space, the order of members and the spelling of strings and numbers make no
// difference.
// Half of a surrogate pair counts as the three bytes it would have. A text with a byte order mark
// differs from the same text without it, which every executor can read. Under version 1 of the
// recipe a text with either has no form.
// nullopt: the text is not valid JSON (RFC 8259, strictly), has an object with two members of the
// same name, is nested deeper than kJsonDepthMax, is longer than kJsonTextBytesMax, or holds a
// number with an exponent of more than 18 digits.
//
//   form   = ["b"] value                     "b": there is a byte order mark
//   value  = "n" | "t" | "f" | number (decimal.h) | string | array | object | "#" digest
//   string = DQUOTE length bytes
//   array  = "[" *([">" gap] value) "]"      gap: number of filtered elements before this one
//   object = "{" *("k" length bytes value) "}"              sorted by the bytes of the name
//
// Lengths and gaps are varints. An array or object whose form would be longer than 256 bytes is
// replaced by "#" and the SHA-256 of that form, which bounds the copying that sorting needs to a
// constant per byte however deep the text is nested.
std::optional<std::string> canonical_json(std::string_view text, const JsonFilter& filter = {},
                                          std::uint8_t recipe_version = kRecipeVersion);

}  // namespace semel::core
