#include "consume/backoff.h"

#include <algorithm>

namespace semel {

Duration backoff(Duration min, Duration max, std::uint32_t attempt, std::uint64_t random) {
  Duration full = min;
  for (std::uint32_t i = 1; i < attempt && full < max; ++i) full *= 2;
  full = std::min(full, max);
  const auto half = static_cast<std::uint64_t>(full.count() / 2);
  return full - Duration(static_cast<std::int64_t>(half > 0 ? random % (half + 1) : 0));
}

}  // namespace semel
