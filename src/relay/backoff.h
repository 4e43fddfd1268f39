#pragma once

#include <cstdint>

#include "semel/time.h"

namespace semel::relay {

// Returns how long to wait after `failures` (at least 1) of them: anything from zero to a limit,
// which begins with min and doubles with every failure up to max. `dice` is random, so that relays
// that failed together do not come back together.
Duration backoff(Duration min, Duration max, int failures, std::uint64_t dice);

}  // namespace semel::relay
