#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace semel::cli {

// Says in sentences what is wrong with a command line, what was probably meant, and where to read
// on. `command`, the program, has tried to parse it and thrown `error`.
std::string explain_usage(const CLI::App& command, const CLI::ParseError& error);

// Returns the command that a command line has reached: the program itself, if none.
const CLI::App& chosen_command(const CLI::App& program);

// "no command 'key'. Did you mean 'keys'?", for a word that names no command of `group`.
std::string no_such_command(const CLI::App& group, const std::string& word);

}  // namespace semel::cli
