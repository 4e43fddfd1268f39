#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "config/read_file.h"

namespace semel::cli {

// Reads and checks a configuration file; errors and warnings go to standard error. nullopt: it
// cannot be used.
std::optional<config::Config> load_config(const std::string& file);

// Adds --config FILE. If `placed`, FILE may stand without its name.
CLI::Option* add_config_file(CLI::App& command, std::string& file, const std::string& help,
                             bool placed = true);

}  // namespace semel::cli
