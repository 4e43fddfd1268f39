#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace semel {

// RFC 4648 base64 with its padding, strictly. nullopt: anything else.
std::optional<std::string> decode_base64(std::string_view text);
std::string encode_base64(std::string_view bytes);

}  // namespace semel
