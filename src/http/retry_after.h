#pragma once

#include <optional>
#include <string_view>

#include "semel/time.h"

namespace semel::relay {

// Parses a Retry-After header: seconds, or a date. nullopt: neither. Never negative, and at most an
// hour, so that a destination cannot put off its messages for good.
std::optional<Duration> parse_retry_after(std::string_view text, Time now);

}  // namespace semel::relay
