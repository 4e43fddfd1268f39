#pragma once

#include <cstdint>

#include "semel/time.h"

namespace semel {

// How long to wait before attempt `attempt` + 1: twice as long each time, between `min` and `max`,
// less up to half of it by chance (`random`), so that what failed together does not come together.
Duration backoff(Duration min, Duration max, std::uint32_t attempt, std::uint64_t random);

}  // namespace semel
