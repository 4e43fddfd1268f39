#include "cli/load_config.h"
#include "config/error.h"
#include "config/parse.h"

#include <cstdio>

namespace semel::cli {

std::optional<config::Config> load_config(const std::string& file) {
  config::ConfigOutcome outcome = config::read_config(file);
  for (const config::ConfigError& warning : outcome.warnings) {
    std::fprintf(stderr, "%s (warning)\n", config::to_string(warning).c_str());
  }
  for (const config::ConfigError& error : outcome.errors) {
    std::fprintf(stderr, "%s\n", config::to_string(error).c_str());
  }
  return std::move(outcome.config);
}

CLI::Option* add_config_file(CLI::App& command, std::string& file, const std::string& help,
                             bool placed) {
  return command.add_option(placed ? "--config,FILE" : "--config", file, help)->type_name("FILE");
}

}  // namespace semel::cli
