#pragma once

#include <boost/asio/io_context.hpp>
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

// Prints "ready" on standard output, and tells the service manager once the loop runs.
void announce_ready(boost::asio::io_context& context, const std::string& status);

// Says why on standard error. Returns the exit code.
int fail(const std::string& why);

// Call it after the process has run. Returns the exit code.
int end(server::Process& process);

}  // namespace semel::cli
