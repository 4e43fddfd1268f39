#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace semel::cli {

// Reads a time of RFC 3339, like 2026-01-31T09:30:00+01:00, and returns it in UTC with
// milliseconds, as records show theirs, so that two of them compare as text. nullopt: it is no such
// time.
std::optional<std::string> utc_time(std::string_view text);

}  // namespace semel::cli
