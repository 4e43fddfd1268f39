#pragma once

#include <chrono>

// Times and durations as records keep them:
//
//   const Duration ttl = std::chrono::hours(24);
//   const Time expires_at = after(now, ttl);
//   if (now >= expires_at) expire();
namespace semel {

// Wall-clock time in whole milliseconds since 1970 UTC, as written into records.
using Duration = std::chrono::milliseconds;
using Time = std::chrono::sys_time<Duration>;

// Later than any real time. A record that is due at kNever is never due.
inline constexpr Time kNever = Time::max();

// Returns `at + by`, or kNever where the sum would overflow.
constexpr Time after(Time at, Duration by) {
  return by >= kNever - at ? kNever : at + by;
}

}  // namespace semel
