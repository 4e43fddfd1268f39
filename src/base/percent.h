#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace semel::base {

// Encodes everything but letters, digits, "-", ".", "_" and "~" (RFC 3986, 2.3).
std::string percent_encoded(std::string_view text);
// Returns nullopt if a "%" is not followed by two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace semel::base
