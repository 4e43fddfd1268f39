#pragma once

#include <string>
#include <string_view>

namespace semel {

// The text as it is if it is valid UTF-8. Otherwise every byte that is part of no character becomes
// \xHH: what comes from outside may be in any encoding, and must not make a JSON text that it is
// shown in unreadable.
std::string printable_utf8(std::string_view text);

}  // namespace semel
