#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/checks/checks.h"
#include "sim/planted.h"
#include "sim/trace.h"
#include "support/model_store.h"

namespace semel::sim {

struct Report {
  Violations violations;
  std::vector<std::string> trace;  // empty unless asked for
  Tally tally;
};

// One run: everything that happens in it follows from the seed.
Report run_seed(std::uint64_t seed, Plant plant = Plant::none, bool traced = false);

// Runs a seed over another store, which must be empty.
Report run_seed_on(support::ModelStore& store, std::uint64_t seed);

}  // namespace semel::sim
