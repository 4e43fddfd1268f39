#include <cstdio>

#include "cli/commands.h"
#include "cli/load_config.h"

namespace semel::cli {

void add_config(CLI::App& app, Run& run) {
  CLI::App* group = app.add_subcommand("config", "Look at a configuration file");
  group->require_subcommand(1);
  CLI::App* check = group->add_subcommand(
      "check", "Check a configuration file: every error with its line, key and what to do");
  auto file = std::make_shared<std::string>();
  check->add_option("FILE", *file, "The configuration file")->required();
  check->callback([&run, file] {
    run = [file] {
      const auto config = load_config(*file);
      if (!config) return kExitUsage;
      std::printf("%s: ok, %zu route%s\n", file->c_str(), config->routes.size(),
                  config->routes.size() == 1 ? "" : "s");
      for (const ConsumeConfig& entry : config->consume) {
        if (!entry.is_for_function()) continue;
        std::printf("consume '%s' has no to: it is for a program with a function of its own\n",
                    entry.route.name.c_str());
      }
      return kExitOk;
    };
  });
}

}  // namespace semel::cli
