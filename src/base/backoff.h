#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace semel {

// A pause that doubles from `min` up to `max`.
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

// The pause after so many failures in a row (at least 1): `min`, doubled per further failure, and
// `max` at most.
constexpr std::chrono::milliseconds backoff_after(std::uint64_t failures,
                                                  std::chrono::milliseconds min,
                                                  std::chrono::milliseconds max) {
  std::chrono::milliseconds pause = min;
  for (std::uint64_t i = 1; i < failures && pause < max; ++i) pause *= 2;
  return std::min(pause, max);
}

// `pause` less up to half of it, so that what failed together does not come back together.
constexpr std::chrono::milliseconds jittered(std::chrono::milliseconds pause,
                                             std::uint64_t random) {
  const auto half = static_cast<std::uint64_t>(std::max<std::int64_t>(pause.count(), 0)) / 2;
  return pause - std::chrono::milliseconds(static_cast<std::int64_t>(random % (half + 1)));
}

}  // namespace semel
