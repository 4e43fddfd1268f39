#pragma once

#include <algorithm>
#include <chrono>

namespace semel {

// How long to wait before the next attempt to connect: longer each time, up to a few seconds.
class ReconnectPause {
 public:
  std::chrono::milliseconds next() {
    const auto now = pause_;
    pause_ = std::min(pause_ * 2, kMax);
    return now;
  }
  void reset() { pause_ = kMin; }

 private:
  static constexpr std::chrono::milliseconds kMin{100};
  static constexpr std::chrono::milliseconds kMax{5000};
  std::chrono::milliseconds pause_ = kMin;
};

}  // namespace semel
