#pragma once

#include <optional>
#include <string_view>

#include "semel/time.h"

namespace semel::http {

// Parses the value of a Retry-After field: a number of seconds, or a date (RFC 9110, 10.2.3).
// nullopt: neither. Zero if the date has passed; at most `longest`, so that nobody who answers can
// put off our requests for good.
std::optional<Duration> parse_retry_after(std::string_view text, Time now, Duration longest);

}  // namespace semel::http
