#pragma once

#include <string>

#include "config/parse.h"

namespace semel::config {

// Reads and checks a configuration file, with this process's environment for the variables that it
// refers to. A file that cannot be read is one error.
ConfigOutcome read_config(const std::string& file);

}  // namespace semel::config
