#pragma once

#include <chrono>

namespace semel {

// Wall-clock time, in whole milliseconds since 1970 UTC. What is written into a record.
using Duration = std::chrono::milliseconds;
using Time = std::chrono::sys_time<Duration>;

// Later than any real time: a record that is never due.
inline constexpr Time kNever = Time::max();

// `at + by`, staying at kNever instead of wrapping round.
constexpr Time after(Time at, Duration by) {
  return by >= kNever - at ? kNever : at + by;
}

}  // namespace semel
