#pragma once

#include <boost/asio/awaitable.hpp>

#include "semel/claim.h"
#include "semel/time.h"

// Time and randomness, for the engine and for stores:
//
//   class TestClock : public Clock { … };  // one that a test sets
//   Engine engine(store, clock, tokens, observer, options);
//   co_await clock.sleep(std::chrono::seconds(1));
namespace semel {

// Monotonic time, for measuring how long something waits: setting the wall clock neither stretches
// nor shortens it. Has no meaning outside this process.
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
  // Like steady(), but also advances while the machine sleeps. Used to check the wall clock.
  virtual SteadyTime since_boot() const { return steady(); }
  // Resumes on the caller's executor after `duration`.
  virtual boost::asio::awaitable<void> sleep(Duration duration) = 0;
};

// The only source of randomness in the engine. Thread-safe.
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  virtual Token next() = 0;
  // Returns a token that fences a claim on this record. A source whose memory can be set back (by
  // restoring a snapshot of the machine) overrides this so that no two attempts get the same token.
  virtual Token next_for(const RecordId&) { return next(); }
};

}  // namespace semel
