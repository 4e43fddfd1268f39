#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace semel {

// The canonical form of an application/x-www-form-urlencoded body: insensitive to the order of
// fields and to how characters are escaped, sensitive to the order of the values of one field. A
// field without "=" is not the field with an empty value: some executors tell them apart.
// nullopt: a "%" is not followed by two hexadecimal digits.
//
//   form = *("k" length name ("=" length value | "!"))        by name, in the order of its bytes
//
// Lengths are varints.
std::optional<std::string> canonical_form(std::string_view body);

}  // namespace semel
