#pragma once

#include <string_view>

namespace semel {

// Whether the text is a W3C traceparent: version, trace id, parent id and flags in lower-case
// hexadecimal digits, the ids not all zero. Of a later version than 00 more may follow.
bool is_traceparent(std::string_view text);

}  // namespace semel
