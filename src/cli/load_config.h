#pragma once

#include <optional>
#include <string>

#include "gateway/config.h"

namespace semel::cli {

// Reads and checks a configuration file. A file that cannot be read is one error.
ConfigOutcome read_config(const std::string& file);

// The same; errors and warnings go to standard error. nullopt: it cannot be used.
std::optional<Config> load_config(const std::string& file);

}  // namespace semel::cli
