#pragma once

#include "base/backoff.h"

namespace semel {

// The pauses between attempts to connect to a broker. Five seconds at most: a broker that is back
// is to be used soon.
inline Backoff reconnect_pauses() {
  return {std::chrono::milliseconds(100), std::chrono::seconds(5)};
}

}  // namespace semel
