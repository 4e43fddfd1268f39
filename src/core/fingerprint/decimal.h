#pragma once

#include <string>
#include <string_view>

namespace semel::core {

// Appends the canonical form of a JSON number to `out`: equal for equal decimal values, different
// for different ones, however many digits they have. Neither rounds nor expands, so 1e400 costs no
// more than 1e4.
//
//   number = "0" | ("+" | "-") length digits exponent        digits: no zero first or last
//
// `length` is a varint, `exponent` a zigzag varint. Returns false, and appends nothing, if `text`
// is not a JSON number or its exponent has more than 18 digits.
bool append_canonical_number(std::string_view text, std::string& out);

}  // namespace semel::core
