#include "relay/backoff.h"

#include <algorithm>

namespace semel::relay {

Duration backoff(Duration min, Duration max, int failures, std::uint64_t dice) {
  Duration ceiling = min;
  for (int i = 1; i < failures && ceiling < max; ++i) ceiling *= 2;
  ceiling = std::min(ceiling, max);
  return Duration(static_cast<std::int64_t>(
      dice % (static_cast<std::uint64_t>(std::max<std::int64_t>(ceiling.count(), 0)) + 1)));
}

}  // namespace semel::relay
