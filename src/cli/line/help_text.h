#pragma once

#include <string>

#include "cli/line/outline.h"
#include "cli/line/terminal.h"

namespace semel::cli {

// Returns the help of one command; of the whole program, its commands by purpose.
std::string help_text(const CommandOutline& command, const TextStyle& style);

}  // namespace semel::cli
