#pragma once

#include <string>

#include "server/open_store.h"
#include "server/process.h"
#include "server/service_manager.h"

// Shared by the commands that run until they are told to end.
namespace semel::cli {

// Makes writing to a closed connection, or to a file that may not grow, an error of that write.
void ignore_write_signals();

// Prints "listening WHAT HOST:PORT" on standard output.
void announce(const char* what, const config::HostPort& at);

// Once the process runs and has tried its store: prints "ready" on standard output, then a line for
// each kind of new work that is not taken on, and tells the service manager.
void announce_ready(server::Process& process, const std::string& status);

// Says why on standard error. Returns the exit code.
int fail(const std::string& why);

// Call it after the process has run. Returns the exit code.
int end(server::Process& process);

}  // namespace semel::cli
