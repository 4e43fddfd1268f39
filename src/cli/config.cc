#include <cstdio>

#include "cli/commands.h"
#include "cli/load_config.h"

namespace semel::cli {

void add_config(CLI::App& app, Run& run) {
  CLI::App* group = app.add_subcommand("config", "Inspect a configuration file");
  group->group(kGroupSetUp);
  group->require_subcommand(1);
  CLI::App* check = group->add_subcommand(
      "check",
      "Check a configuration file: print every error with its line, its key and what to do");
  auto file = std::make_shared<std::string>();
  add_config_file(*check, *file, "The configuration file")->required();
  check->callback([&run, file] {
    run = [file] {
      const auto config = load_config(*file);
      if (!config) return kExitUsage;
      std::printf("%s: ok, %zu route%s\n", file->c_str(), config->routes.size(),
                  config->routes.size() == 1 ? "" : "s");
      for (const config::ConsumeConfig& entry : config->consume) {
        if (!entry.is_for_function()) continue;
        std::printf("consume '%s' has no to: it is for a program with its own function\n",
                    entry.route.name.c_str());
      }
      return kExitOk;
    };
  });
}

}  // namespace semel::cli
