#pragma once

#include <CLI/CLI.hpp>
#include <expected>
#include <string>
#include <vector>

namespace semel::cli {

// Says in sentences what is wrong with a command line, what was probably meant, and where to read
// on. `command`, the program, has tried to parse it and thrown `error`.
std::string explain_usage(const CLI::App& command, const CLI::ParseError& error);

// Returns the command that a command line has reached: the program itself, if none.
const CLI::App& chosen_command(const CLI::App& program);

// Returns the command that these words name. The error is "no command 'key'. Did you mean 'keys'?".
std::expected<const CLI::App*, std::string> command_named_by(const CLI::App& program,
                                                             const std::vector<std::string>& words);

}  // namespace semel::cli
