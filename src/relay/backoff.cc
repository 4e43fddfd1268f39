#include "relay/backoff.h"

#include <algorithm>

#include "base/backoff.h"

namespace semel::relay {

Duration backoff(Duration min, Duration max, int failures, std::uint64_t dice) {
  const Duration ceiling = backoff_after(static_cast<std::uint64_t>(failures), min, max);
  return Duration(static_cast<std::int64_t>(
      dice % (static_cast<std::uint64_t>(std::max<std::int64_t>(ceiling.count(), 0)) + 1)));
}

}  // namespace semel::relay
