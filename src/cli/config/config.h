#pragma once

#include "cli/commands.h"

// The commands of `semel config`, one file each.
namespace semel::cli {

void add_config_check(CLI::App& group, Run& run);
void add_config_print(CLI::App& group, Run& run);
void add_config_explain(CLI::App& group, Run& run);

}  // namespace semel::cli
