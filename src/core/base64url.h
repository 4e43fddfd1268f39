#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace semel {

// RFC 4648 base64url without padding. nullopt: another character, an impossible length, or unused
// bits that are not zero, so that every value has exactly one form.
std::optional<std::string> decode_base64url(std::string_view text);
std::string encode_base64url(std::string_view bytes);

}  // namespace semel
