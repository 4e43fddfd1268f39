#include <cstdio>
#include <memory>

#include "cli/commands.h"

namespace semel::cli {

void add_version(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("version", "Print the version");
  command->group(kGroupLearn);
  auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "Print JSON");
  command->callback([&run, as_json] {
    run = [as_json] {
      std::puts(*as_json ? R"({"version":")" SEMEL_VERSION R"("})" : "semel " SEMEL_VERSION);
      return kExitOk;
    };
  });
  app.set_version_flag("--version", "semel " SEMEL_VERSION, "Print the version");
}

}  // namespace semel::cli
