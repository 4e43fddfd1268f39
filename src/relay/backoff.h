#pragma once

#include <cstdint>

#include "semel/time.h"

namespace semel::relay {

// How long to wait after `failures` (at least 1) of them: anything from nothing to min, doubled
// with every failure up to max. `dice` is random: relays that failed together do not come back
// together.
Duration backoff(Duration min, Duration max, int failures, std::uint64_t dice);

}  // namespace semel::relay
