#pragma once

#include <optional>
#include <string>
#include <string_view>

// Base64 by RFC 4648, strictly: every value has exactly one spelling. Decoding anything else
// returns nullopt.
namespace semel::base {

// base64 with padding.
std::optional<std::string> decode_base64(std::string_view text);
std::string encode_base64(std::string_view bytes);

// base64url without padding.
std::optional<std::string> decode_base64url(std::string_view text);
std::string encode_base64url(std::string_view bytes);

}  // namespace semel::base
