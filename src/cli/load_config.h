#pragma once

#include <optional>
#include <string>

#include "config/read_file.h"

namespace semel::cli {

// Reads and checks a configuration file; errors and warnings go to standard error. nullopt: it
// cannot be used.
std::optional<config::Config> load_config(const std::string& file);

}  // namespace semel::cli
