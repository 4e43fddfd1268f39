#pragma once

#include <string>

#include "semel/driver/record.h"

namespace semel::engine {

// Returns the identity of this process in the records that it claims and the lines that it logs:
// the machine's name, and a number that no other run of the program has. The same on every thread.
const Owner& this_node();
// Formats a run for people: 16 hexadecimal digits.
std::string run_text(const Owner& owner);

}  // namespace semel::engine
