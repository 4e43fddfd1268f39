#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

#include "engine/clock_steps.h"
#include "semel/driver/clock.h"
#include "semel/time.h"

namespace semel::stores {

// Estimates the database's clock from its replies: the time in a reply plus the steady time that
// passed since it was received. So the estimate is behind by a reply's travel time at most, and
// never ahead. Of the replies of the last seconds, the one with the shortest travel time counts. If
// the server's clock was set back, the estimate follows with the first reply that proves it: one
// whose time is before the estimate for the moment it was asked for. So whoever has read a record
// judges its lease by a time that is not ahead of the server's when it returned the record.
class PostgresClock {
 public:
  using Steady = std::chrono::steady_clock;

  // Call on one thread. The server read `server_ms` after it was asked at `asked` and before the
  // reply was received at `now`.
  void saw(std::int64_t server_ms, Steady::time_point asked, Steady::time_point now) {
    const std::int64_t offset_max = server_ms + 1 - whole_ms(asked);
    if (std::max(current_, before_) > offset_max) forget();
    // The server rounds to the nearest millisecond, and whole_ms() rounds steady time down.
    const std::int64_t offset = server_ms - 1 - whole_ms(now);
    if (now - begun_ >= kWindow) {
      before_ = now - begun_ >= 2 * kWindow ? kUnknown : current_;
      current_ = kUnknown;
      begun_ = now;
    }
    current_ = std::max(current_, offset);
    offset_.store(std::max(current_, before_), std::memory_order_relaxed);
  }
  // Compares the database's clock with the time since this machine was booted, to notice steps. Any
  // thread.
  void note_steps(const Clock& machine) {
    if (offset_ == kUnknown) return;
    steps_.look([this] { return *at(Steady::now()); }, [&] { return machine.since_boot(); });
  }
  // Returns `now`, a time by the database's clock, less what that clock was set forward since this
  // process has known it: whatever has expired by the result would have done so without any step.
  // Any thread.
  Time settled(Time now) const { return now - steps_.lag_of(Time::min()); }

  // Call if the next reply may come from another server. Until that reply the time continues as
  // known: a jump to another clock would put off the renewal of leases, or end waits.
  void forget() { current_ = before_ = kUnknown; }

  // Returns the database's time at `now`; nullopt: no reply has told it yet. Any thread.
  std::optional<Time> at(Steady::time_point now) const {
    const std::int64_t offset = offset_.load(std::memory_order_relaxed);
    if (offset == kUnknown) return std::nullopt;
    return Time(Duration(offset + whole_ms(now)));
  }

 private:
  static constexpr auto kWindow = std::chrono::seconds(5);
  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();

  static std::int64_t whole_ms(Steady::time_point at) {
    return std::chrono::floor<Duration>(at.time_since_epoch()).count();
  }

  std::atomic<std::int64_t> offset_ = kUnknown;
  engine::ClockSteps steps_;
  std::int64_t current_ = kUnknown;
  std::int64_t before_ = kUnknown;
  Steady::time_point begun_{};
};

}  // namespace semel::stores
