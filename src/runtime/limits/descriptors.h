#pragma once

#include <expected>
#include <string>

#include "config/config.h"

namespace semel::runtime {

// Raises the number of files that this process may open as far as allowed, and lowers
// limits.connections and limits.in_flight to what fits, with a line in the log. Descriptors for the
// store, the admin listener and the rest of the program are set aside first: a crowd of clients
// must not keep a record from being written. The error is a sentence for the operator.
std::expected<void, std::string> fit_into_descriptors(config::Config& config);

// Lowers the limits to fit into a given number of files. Returns false if hardly anything is left
// for clients.
bool fit_limits(config::LimitsConfig& limits, std::size_t files_max);

// Returns the number of descriptors that the limits need.
std::size_t descriptors_needed(const config::LimitsConfig& limits);

}  // namespace semel::runtime
