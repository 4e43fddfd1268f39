#pragma once

#include <cstdint>
#include <string>

#include "sim/planted.h"

namespace semel::sim {

// Returns the command that runs a seed again.
std::string replay_command(std::uint64_t seed, Plant plant = Plant::none);

// Should the process die from here on, it says at which seed.
void announce(std::uint64_t seed);

}  // namespace semel::sim
