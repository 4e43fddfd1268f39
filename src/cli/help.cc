#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/line/help_text.h"
#include "cli/line/usage_error.h"

namespace semel::cli {
namespace {

int print_help(const CLI::App& program, const std::vector<std::string>& words) {
  const auto command = command_named_by(program, words);
  if (!command) return complain(command.error(), kExitUsage);
  std::fputs(help_text(outline_of(**command), style_of(stdout)).c_str(), stdout);
  return kExitOk;
}

}  // namespace

void add_help(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("help", "Explain the program, or one command");
  command->group(kGroupLearn);
  auto words = std::make_shared<std::vector<std::string>>();
  command->add_option("COMMAND", *words, "The command, like keys or keys ls");
  command->callback(
      [&app, &run, words] { run = [&app, words] { return print_help(app, *words); }; });
}

}  // namespace semel::cli
