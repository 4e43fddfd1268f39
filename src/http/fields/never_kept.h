#pragma once

#include <string_view>

namespace semel::http {

// Returns true for credentials and for instructions to one browser: no configuration keeps or
// replays these headers.
bool is_never_kept(std::string_view header_name);

}  // namespace semel::http
