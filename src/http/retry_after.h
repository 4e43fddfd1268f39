#pragma once

#include <optional>
#include <string_view>

#include "semel/time.h"

namespace semel::relay {

// What a Retry-After header says: seconds, or a date. nullopt: neither. Never negative, an hour at
// most: a destination cannot put off its messages for good.
std::optional<Duration> parse_retry_after(std::string_view text, Time now);

}  // namespace semel::relay
