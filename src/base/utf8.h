#pragma once

#include <string>
#include <string_view>

namespace semel::base {

// Returns valid UTF-8 unchanged, and replaces every byte that is not part of a character by \xHH:
// external text may be in any encoding, and must not make the JSON that shows it unreadable.
std::string printable_utf8(std::string_view text);

}  // namespace semel::base
