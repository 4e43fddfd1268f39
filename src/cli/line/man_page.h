#pragma once

#include <string>

#include "cli/line/outline.h"

namespace semel::cli {

// Returns the manual page of one command, in roff with the macros of man(7).
std::string man_page(const CommandOutline& command);

// "semel-keys-ls"
std::string man_page_name(const CommandOutline& command);

}  // namespace semel::cli
