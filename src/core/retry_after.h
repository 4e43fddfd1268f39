#pragma once

#include <optional>
#include <string_view>

#include "semel/time.h"

namespace semel::core {

// Parses a date of HTTP like "Sun, 06 Nov 1994 08:49:37 GMT"; nullopt: it is none.
std::optional<Time> parse_http_date(std::string_view text);

// Parses the value of a Retry-After field: a number of seconds, or a date (RFC 9110, 10.2.3).
// nullopt: neither. Zero if the date has passed; at most `longest`, so that nobody who answers can
// put off our requests for good.
std::optional<Duration> parse_retry_after(std::string_view text, Time now, Duration longest);

}  // namespace semel::core
