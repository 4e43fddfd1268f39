#pragma once

#include <string>

#include "config/config.h"

namespace semel::config {

// Returns the configuration as YAML that parse_config() reads again: every default is filled in,
// and `profile` and `defaults` are part of each route. Secrets are replaced by "***", passwords
// inside URLs too, so the text may be shown to anyone who may see the rest.
std::string print_yaml(const Config& config);

}  // namespace semel::config
