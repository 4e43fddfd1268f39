#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/commands.h"
#include "cli/line/man_page.h"
#include "cli/line/usage_error.h"

namespace semel::cli {
namespace {

struct ManOptions {
  std::vector<std::string> words;
  std::string to;
};

bool write_pages(const CommandOutline& command, const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / (man_page_name(command) + ".1");
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << man_page(command);
  out.close();
  if (!out) {
    complain(file.string() + " cannot be written", kExitFailed);
    return false;
  }
  for (const CommandOutline& below : command.commands) {
    if (!write_pages(below, folder)) return false;
  }
  return true;
}

int print_page(const CLI::App& program, const ManOptions& options) {
  const auto command = command_named_by(program, options.words);
  if (!command) return complain(command.error(), kExitUsage);
  const CommandOutline outline = outline_of(**command);
  if (!options.to.empty()) return write_pages(outline, options.to) ? kExitOk : kExitFailed;
  std::fputs(man_page(outline).c_str(), stdout);
  return kExitOk;
}

}  // namespace

void add_man(CLI::App& app, Run& run) {
  CLI::App* command =
      app.add_subcommand("man", "Print the manual page of the program, or of one command");
  command->group(kGroupLearn);
  auto options = std::make_shared<ManOptions>();
  command->add_option("COMMAND", options->words, "The command, like keys or keys ls");
  command
      ->add_option("--to", options->to,
                   "Write the page, and those of the commands below, into this folder")
      ->type_name("FOLDER");
  command->footer("To read a page: semel man keys | man -l -");
  command->callback(
      [&app, &run, options] { run = [&app, options] { return print_page(app, *options); }; });
}

}  // namespace semel::cli
