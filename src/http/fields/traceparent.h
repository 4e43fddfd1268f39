#pragma once

#include <string_view>

namespace semel::http {

// Returns true if the text is a W3C traceparent: version, trace id, parent id and flags in
// lower-case hexadecimal digits, the ids not all zero. In versions later than 00 more may follow.
bool is_traceparent(std::string_view text);

}  // namespace semel::http
