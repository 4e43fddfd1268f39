#pragma once

#include <string>

#include "semel/record.h"

namespace semel {

// This process, as it stands in the records that it claims and in the lines that it logs: the
// machine's name, and a number that no other run of the program has. The same from any thread.
const Owner& this_node();
// A run as it is written for people: 16 hexadecimal digits.
std::string run_text(const Owner& owner);

}  // namespace semel
