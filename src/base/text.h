#pragma once

#include <string>
#include <string_view>

namespace semel {

// Without the spaces and tabs around it, as in a field of an HTTP message.
std::string_view trim(std::string_view text);
// The same of a line of a file, which may have been written with CR LF.
std::string_view trim_line(std::string_view line);

// ASCII letters only, whatever the locale.
std::string lower_case(std::string_view text);

}  // namespace semel
