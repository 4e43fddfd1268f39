#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace semel::cli {

// Opens the files that the configuration names, as the commands that use them do at their start:
// certificates, keys, tokens, secrets. Returns a sentence about each that cannot be used.
std::vector<std::string> find_unusable_files(const config::Config& config);

}  // namespace semel::cli
