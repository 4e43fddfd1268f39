#pragma once

#include <string>

#include "semel/client.h"

// Says what became of a call, on standard output, on standard error, and by the exit code.
namespace semel::cli {

inline constexpr const char* kCallExitCodes =
    "Exit codes: 0 answered with 2xx (or replayed), 22 answered with another status,\n"
    "65 refused (400, 410, 422), 70 unknown: it may have happened, 75 gave up: the same key\n"
    "may be tried again, 130 interrupted, 2 bad command line or keys file; nothing was sent.";

int call_exit_code(const Sent& sent);

// Prints one object with all there is.
void print_call_json(const Sent& sent);
// Prints the answer's body on standard output.
void print_call_body(const Sent& sent);
// Prints one line on standard error: what happened, and how to go on.
void print_call_line(const Sent& sent);
// Prints one line on standard error about one try, with the first characters of the key.
void print_try_line(const TryReport& tried, const std::string& key_start);

}  // namespace semel::cli
