#pragma once

#include "base/backoff.h"

namespace semel::brokers {

// Returns the pauses between attempts to connect to a broker. At most five seconds, so that a
// broker that is back is used soon.
inline base::Backoff reconnect_pauses() {
  return {std::chrono::milliseconds(100), std::chrono::seconds(5)};
}

}  // namespace semel::brokers
