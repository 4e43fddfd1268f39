#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "config/config.h"

// Selects the outbox that a command is about: --config FILE, or --url URL and --schema NAME.
namespace semel::cli {

struct OutboxWhere {
  std::string config_file;
  std::string url;
  std::string schema = "semel";
};

// If `placed`, FILE may stand without --config.
void add_outbox_where(CLI::App& command, OutboxWhere& where, bool placed);

// Fills in what the configuration says. Without a file, returns a configuration of defaults.
// nullopt: it cannot be used, and standard error says why.
std::optional<config::Config> settle(OutboxWhere& where);

}  // namespace semel::cli
