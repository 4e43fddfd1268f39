#pragma once

#include <string>
#include <string_view>

namespace semel::base {

// Strips surrounding spaces and tabs, as in a field of an HTTP message.
std::string_view trim(std::string_view text);
// Like trim(), for a line of a file, which may end with CR LF.
std::string_view trim_line(std::string_view line);

// Strips the line ends after the text.
std::string_view without_line_end(std::string_view text);

// Converts ASCII letters only, whatever the locale.
std::string lower_case(std::string_view text);

}  // namespace semel::base
