#include "cli/load_config.h"
#include "config/error.h"
#include "config/parse.h"

#include <cstdio>

namespace semel::cli {

std::optional<Config> load_config(const std::string& file) {
  ConfigOutcome outcome = read_config(file);
  for (const ConfigError& warning : outcome.warnings) {
    std::fprintf(stderr, "%s (warning)\n", to_string(warning).c_str());
  }
  for (const ConfigError& error : outcome.errors) {
    std::fprintf(stderr, "%s\n", to_string(error).c_str());
  }
  return std::move(outcome.config);
}

}  // namespace semel::cli
