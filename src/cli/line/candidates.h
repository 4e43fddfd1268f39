#pragma once

#include <string>
#include <vector>

#include "cli/line/outline.h"

namespace semel::cli {

// What could stand in place of the last of `words`, the words behind "semel" up to the cursor; the
// last one may be empty. One line each, for the scripts of `semel completion`: the word, a tab and
// its help; or ":file", ":folder", if the shell knows better.
std::vector<std::string> candidates_for(const CommandOutline& program,
                                        const std::vector<std::string>& words);

}  // namespace semel::cli
