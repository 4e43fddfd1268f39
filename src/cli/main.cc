#include <sys/stat.h>

#include <csignal>
#include <cstdio>
#include <exception>

#include "cli/commands.h"

int main(int argc, char** argv) {
  using namespace semel::cli;
  // Keeps everybody else from reading what is written, by libraries too.
  umask(S_IRWXG | S_IRWXO);
  // Log rotation may send it before the log is open, or to a command that has none.
  std::signal(SIGUSR1, SIG_IGN);
  CLI::App app{
      "semel makes retries safe: the same logical request, delivered any number of times,\n"
      "has one effect and one answer."};
  app.require_subcommand(1);
  app.footer("Exit codes: 0 done, 1 failed, 2 bad command line or configuration.");
  Run run;
  add_serve(app, run);
  add_demo(app, run);
  add_config(app, run);
  add_keys(app, run);
  add_schema(app, run);
  add_relay(app, run);
  add_outbox(app, run);
  add_consume(app, run);
  add_complete(app, run);
  add_version(app, run);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? kExitOk : kExitUsage;
  }
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "semel: %s\n", error.what());
    return kExitFailed;
  }
}
