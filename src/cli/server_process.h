#pragma once

#include <expected>
#include <memory>
#include <string>

#include "gateway/server.h"

// What the commands that run until they are told to end have in common.
namespace semel::cli {

// Writing to who is gone, or to a file that may not grow, is an error of that write.
void ignore_write_signals();

// The configured store, whose commits `metrics` counts and whose troubles are logged. The error is
// a sentence.
std::expected<std::unique_ptr<Store>, std::string> open_store_for(const Config& config,
                                                                  Metrics& metrics);

// "listening WHAT HOST:PORT" on standard output.
void announce(const char* what, const HostPort& at);

// Says why on standard error. The exit code.
int fail(const std::string& why);

// After the server has run. The exit code.
int end(Server& server);

}  // namespace semel::cli
