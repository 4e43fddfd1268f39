#include <sys/stat.h>

#include <csignal>
#include <cstdio>
#include <exception>

#include "cli/commands.h"
#include "cli/line/candidates.h"
#include "cli/line/help_text.h"
#include "cli/line/usage_error.h"

namespace semel::cli {

mode_t inherited_umask = 0;

namespace {

void add_commands(CLI::App& app, Run& run) {
  add_serve(app, run);
  add_consume(app, run);
  add_relay(app, run);
  add_complete(app, run);
  add_once(app, run);
  add_call(app, run);
  add_check(app, run);
  add_keys(app, run);
  add_queue(app, run);
  add_top(app, run);
  add_reconcile(app, run);
  add_outbox(app, run);
  add_store(app, run);
  add_backup(app, run);
  add_restore(app, run);
  add_config(app, run);
  add_schema(app, run);
  add_demo(app, run);
  add_help(app, run);
  add_completion(app, run);
  add_man(app, run);
  add_version(app, run);
}

// Prints what was asked for instead of running something, or what is wrong with the command line.
int end_without_run(const CLI::App& app, const CLI::ParseError& error, bool has_arguments) {
  if (dynamic_cast<const CLI::CallForVersion*>(&error)) {
    std::puts(error.what());
    return kExitOk;
  }
  const CLI::App& command = chosen_command(app);
  const bool asks_for_help = dynamic_cast<const CLI::CallForHelp*>(&error);
  // "semel kyes --help" asks for the help of a command that does not exist.
  const bool is_misspelled = !commands_of(command).empty() && !app.remaining(true).empty();
  if (asks_for_help && !is_misspelled) {
    std::fputs(help_text(outline_of(command), style_of(stdout)).c_str(), stdout);
    return kExitOk;
  }
  if (!has_arguments) {
    std::fputs(help_text(outline_of(app), style_of(stderr)).c_str(), stderr);
    return kExitUsage;
  }
  return complain(explain_usage(app, error), kExitUsage);
}

int run_program(int argc, char** argv) {
  CLI::App app{
      "semel makes retries safe: the same logical request, delivered any number of times, has one "
      "effect and one answer."};
  app.require_subcommand(1);
  app.footer("Exit codes: 0 done, 1 failed, 2 bad command line or configuration.");
  Run run;
  add_commands(app, run);
  if (argc > 1 && std::string_view(argv[1]) == "__candidates") {
    for (const std::string& line : candidates_for(outline_of(app), {argv + 2, argv + argc})) {
      std::puts(line.c_str());
    }
    return kExitOk;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return end_without_run(app, error, argc > 1);
  }
  return run();
}

}  // namespace
}  // namespace semel::cli

int main(int argc, char** argv) {
  // Keeps everybody else from reading what is written, by libraries too.
  semel::cli::inherited_umask = umask(S_IRWXG | S_IRWXO);
  // Log rotation may send it before the log is open, or to a command that has none.
  std::signal(SIGUSR1, SIG_IGN);
  try {
    return semel::cli::run_program(argc, argv);
  } catch (const std::exception& error) {
    return semel::cli::complain(error.what(), semel::cli::kExitFailed);
  }
}
