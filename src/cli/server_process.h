#pragma once

#include <string>

#include "server/open_store.h"
#include "server/server.h"

// What the commands that run until they are told to end have in common.
namespace semel::cli {

// Writing to who is gone, or to a file that may not grow, is an error of that write.
void ignore_write_signals();

// "listening WHAT HOST:PORT" on standard output.
void announce(const char* what, const HostPort& at);

// Says why on standard error. The exit code.
int fail(const std::string& why);

// After the server has run. The exit code.
int end(Server& server);

}  // namespace semel::cli
