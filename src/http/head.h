#pragma once

#include <string>
#include <string_view>

#include "semel/time.h"

// Writes the head of a message.
namespace semel::http {

std::string_view reason_phrase(int status);
void append_status_line(std::string& head, int status);
void append_header(std::string& head, std::string_view name, std::string_view value);

// Formats the time like "Sun, 06 Nov 1994 08:49:37 GMT".
std::string format_date(Time at);
void append_date(std::string& out, Time at);

}  // namespace semel::http
