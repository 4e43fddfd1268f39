#pragma once

#include <sys/types.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

// One file per command. Each adds itself to the command line and, if it was chosen, puts the work
// into `run`, whose result is the exit code.
namespace semel::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;  // a bad command line or configuration
inline constexpr int kExitNotFound = 3;

// The purposes by which the commands are listed.
inline constexpr const char* kGroupRun = "Run";
inline constexpr const char* kGroupCall = "Call and judge any API";
inline constexpr const char* kGroupOperate = "Look and decide";
inline constexpr const char* kGroupSetUp = "Set up";
inline constexpr const char* kGroupLearn = "Find out";

using Run = std::function<int()>;

// Prints a message on standard error. Returns the exit code.
int complain(const std::string& what, int code);

// The umask that the program was started with, for programs that it starts. Its own lets nobody
// else read what it writes.
extern mode_t inherited_umask;

void add_serve(CLI::App& app, Run& run);
void add_demo(CLI::App& app, Run& run);
void add_store(CLI::App& app, Run& run);
void add_backup(CLI::App& app, Run& run);
void add_restore(CLI::App& app, Run& run);
void add_config(CLI::App& app, Run& run);
void add_keys(CLI::App& app, Run& run);
void add_queue(CLI::App& app, Run& run);
void add_top(CLI::App& app, Run& run);
void add_reconcile(CLI::App& app, Run& run);
void add_schema(CLI::App& app, Run& run);
void add_relay(CLI::App& app, Run& run);
void add_outbox(CLI::App& app, Run& run);
void add_consume(CLI::App& app, Run& run);
void add_call(CLI::App& app, Run& run);
void add_complete(CLI::App& app, Run& run);
void add_once(CLI::App& app, Run& run);
void add_check(CLI::App& app, Run& run);
void add_help(CLI::App& app, Run& run);
void add_completion(CLI::App& app, Run& run);
void add_man(CLI::App& app, Run& run);
void add_version(CLI::App& app, Run& run);

}  // namespace semel::cli
