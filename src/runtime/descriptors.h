#pragma once

#include <expected>
#include <string>

#include "config/config.h"

namespace semel {

// Raises the number of files that this process may have open as far as it may be raised, and lowers
// limits.connections and limits.in_flight to what fits into that, with a line in the log. What the
// store, the admin listener and the rest of the program open is set aside first: a crowd of clients
// must not keep a record from being written. The error is a sentence for the operator.
std::expected<void, std::string> fit_into_descriptors(Config& config);

// The same arithmetic for a given number of files. False: hardly anything is left for clients.
bool fit_limits(LimitsConfig& limits, std::size_t files_max);

// What the limits as they stand need.
std::size_t descriptors_needed(const LimitsConfig& limits);

}  // namespace semel
