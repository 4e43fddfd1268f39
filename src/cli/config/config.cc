#include "cli/config/config.h"

namespace semel::cli {

void add_config(CLI::App& app, Run& run) {
  CLI::App* group = app.add_subcommand("config", "Inspect a configuration file");
  group->group(kGroupSetUp);
  group->require_subcommand(1);
  add_config_check(*group, run);
  add_config_print(*group, run);
  add_config_explain(*group, run);
}

}  // namespace semel::cli
