#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "semel/time.h"

namespace semel::execution {

// Limits how long the next piece of a request's body may take: `timeout`, and less once the whole
// body is slower than `timeout` plus one second per KiB. So a body that comes byte by byte is
// ended, and one on a slow line is not.
class BodyPace {
 public:
  using Instant = std::chrono::steady_clock::time_point;
  BodyPace(Duration timeout, Instant begun) : timeout_(timeout), begun_(begun) {}

  Duration next(std::uint64_t received_bytes, Instant now) const {
    const auto earned = std::chrono::milliseconds(received_bytes * 1000 / kBytesPerSecondMin);
    const auto left = std::chrono::duration_cast<Duration>(begun_ + timeout_ + earned - now);
    return std::clamp(left, Duration(1), timeout_);
  }

 private:
  static constexpr std::uint64_t kBytesPerSecondMin = 1024;

  Duration timeout_;
  Instant begun_;
};

// A pace for a client that is waited for between other things, in either direction. Counts only the
// time spent waiting for the client, not what the service takes.
class ClientPace {
 public:
  explicit ClientPace(Duration timeout) : pace_(timeout, {}) {}

  // Returns how long the client may take for the next piece.
  Duration next() const { return pace_.next(bytes_, BodyPace::Instant{} + waited_); }
  void passed(std::uint64_t bytes, std::chrono::steady_clock::duration waited) {
    bytes_ += bytes;
    waited_ += waited;
  }

 private:
  BodyPace pace_;
  std::uint64_t bytes_ = 0;
  std::chrono::steady_clock::duration waited_{};
};

}  // namespace semel::execution
