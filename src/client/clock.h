#pragma once

#include "semel/time.h"

namespace semel::client {

// The wall clock, for dates in answers and in the keys file; pauses and deadlines go by the steady
// clock.
Time wall_now();

}  // namespace semel::client
