#pragma once

#include <string>

#include "check/lab.h"

namespace semel::check {

// Finds out how the endpoint wants keys written, what in its answers is the witness of an execution
// and which field marks replays. Returns why the endpoint cannot be checked; "": it can.
std::string calibrate(Lab& lab);

// Returns the field that tells a replay from a first answer; "": there is none.
std::string find_marker(const Answer& first, const Answer& replay, std::string_view key);

}  // namespace semel::check
