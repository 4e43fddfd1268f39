#pragma once

#include <string_view>

namespace semel {

// Credentials, and orders to one browser: no configuration has these headers kept or replayed.
bool is_never_kept(std::string_view header_name);

}  // namespace semel
