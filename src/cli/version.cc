#include <cstdio>

#include "cli/commands.h"

namespace semel::cli {

void add_version(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("version", "Print the version");
  command->callback([&run] {
    run = [] {
      std::puts("semel " SEMEL_VERSION);
      return kExitOk;
    };
  });
}

}  // namespace semel::cli
