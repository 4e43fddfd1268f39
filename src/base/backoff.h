#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace semel::base {

// Yields pauses that double from `min` up to `max`.
class Backoff {
 public:
  constexpr Backoff(std::chrono::milliseconds min, std::chrono::milliseconds max)
      : min_(min), max_(max), next_(min) {}
  constexpr std::chrono::milliseconds next() {
    const auto now = next_;
    next_ = std::min(next_ * 2, max_);
    return now;
  }
  constexpr void reset() { next_ = min_; }

 private:
  std::chrono::milliseconds min_;
  std::chrono::milliseconds max_;
  std::chrono::milliseconds next_;
};

// Returns the pause after this many failures in a row (at least 1): `min`, doubled per further
// failure, `max` at most.
constexpr std::chrono::milliseconds backoff_after(std::uint64_t failures,
                                                  std::chrono::milliseconds min,
                                                  std::chrono::milliseconds max) {
  std::chrono::milliseconds pause = min;
  for (std::uint64_t i = 1; i < failures && pause < max; ++i) pause *= 2;
  return std::min(pause, max);
}

// Draws a pause from zero to `limit`, for callers that failed together and are many.
constexpr std::chrono::milliseconds drawn_up_to(std::chrono::milliseconds limit,
                                                std::uint64_t random) {
  const auto whole = static_cast<std::uint64_t>(std::max<std::int64_t>(limit.count(), 0));
  return std::chrono::milliseconds(static_cast<std::int64_t>(random % (whole + 1)));
}

// Shortens `pause` by up to half, so that callers that failed together do not retry together.
constexpr std::chrono::milliseconds jittered(std::chrono::milliseconds pause,
                                             std::uint64_t random) {
  const auto half = static_cast<std::uint64_t>(std::max<std::int64_t>(pause.count(), 0)) / 2;
  return pause - std::chrono::milliseconds(static_cast<std::int64_t>(random % (half + 1)));
}

}  // namespace semel::base
