#pragma once

#include <map>
#include <string>

namespace semel::config {

// The variables that a configuration file may refer to.
using Environment = std::map<std::string, std::string>;

}  // namespace semel::config
