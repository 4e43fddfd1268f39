#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fingerprint/json_pointer.h"
#include "semel/fingerprint.h"

namespace semel {

// Which subtrees of a JSON text count.
struct JsonFilter {
  std::vector<JsonPointer> include;  // empty, or none matches: everything
  std::vector<JsonPointer> exclude;  // applied after `include`
};

// Limits beyond which a text is not read as JSON. Part of what a fingerprint means: changing one
// turns honest retries of such bodies into mismatches.
inline constexpr std::size_t kJsonDepthMax = 512;
inline constexpr std::size_t kJsonTextBytesMax = std::size_t{8} << 20;

// The canonical form of a JSON text: the same bytes exactly for texts that mean the same. White
// space, the order of members and the spelling of strings and numbers make no difference. nullopt:
// the text is not valid JSON (RFC 8259, strictly), has an object with two members of one name, is
// nested deeper than kJsonDepthMax, is longer than kJsonTextBytesMax, or holds a number with an
// exponent of more than 18 digits. Half of a surrogate pair counts as the three bytes it would
// have, and a text with a byte order mark is not the one without it, which every executor can read;
// under version 1 of the recipe there is no form of either.
//
//   form   = ["b"] value                     "b": there is a byte order mark
//   value  = "n" | "t" | "f" | number (decimal.h) | string | array | object | "#" digest
//   string = DQUOTE length bytes
//   array  = "[" *([">" gap] value) "]"      gap: how many elements before this one were filtered
//   object = "{" *("k" length bytes value) "}"              by name, in the order of its bytes
//
// Lengths and gaps are varints. An array or object whose form would be longer than 256 bytes is
// replaced by "#" and the SHA-256 of that form, which bounds the copying that sorting needs to a
// constant per byte however deep the text is nested.
std::optional<std::string> canonical_json(std::string_view text, const JsonFilter& filter = {},
                                          std::uint8_t recipe_version = kRecipeVersion);

}  // namespace semel
