#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/environment.h"
#include "config/error.h"
#include "config/known_key.h"

namespace semel::config {

// Has every error found, not only the first. Warnings do not prevent the use of the configuration.
struct ConfigOutcome {
  std::optional<Config> config;  // nullopt exactly if there are errors
  std::vector<ConfigError> errors;
  std::vector<ConfigError> warnings;
};
ConfigOutcome parse_config(std::string_view yaml, const std::string& file,
                           const Environment& environment, const KnownKey& known = {});

}  // namespace semel::config
