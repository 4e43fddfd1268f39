#pragma once

#include <boost/asio/awaitable.hpp>

#include "semel/record.h"
#include "semel/time.h"

namespace semel {

// Time that only passes: for how long something waits, which a clock that is set must neither
// stretch nor cut. Means nothing outside this process.
using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;
inline constexpr SteadyTime kSteadyNever = SteadyTime::max();
constexpr SteadyTime after(SteadyTime at, Duration by) {
  return by >= kSteadyNever - at ? kSteadyNever : at + by;
}

// The only source of time. The simulator supplies its own.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() const = 0;
  virtual SteadyTime steady() const = 0;
  // The same, but it passes also while the machine sleeps: what the wall clock is checked against.
  virtual SteadyTime since_boot() const { return steady(); }
  // Resumes on the caller's executor after `duration`.
  virtual boost::asio::awaitable<void> sleep(Duration duration) = 0;
};

// The only source of randomness in the engine. Thread-safe.
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  virtual Token next() = 0;
  // One that fences a claim on this record. A source whose memory can be set back (a restored
  // snapshot of the machine) overrides this, so that no attempt gets the token of another.
  virtual Token next_for(const RecordId&) { return next(); }
};

}  // namespace semel
