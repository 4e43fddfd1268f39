#pragma once

#include <optional>
#include <string>

#include "gateway/read_config.h"

namespace semel::cli {

// Reads and checks a configuration file; errors and warnings go to standard error. nullopt: it
// cannot be used.
std::optional<Config> load_config(const std::string& file);

}  // namespace semel::cli
