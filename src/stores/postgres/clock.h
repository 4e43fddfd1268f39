#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

#include "engine/clock_steps.h"
#include "semel/clock.h"
#include "semel/time.h"

namespace semel {

// The database's clock, as its replies tell it: the time of a reply, and the steady time that
// passed since it was received. So it is behind by a reply's way at most, and never ahead. Of the
// last seconds the reply with the shortest way counts. A clock that was set back is followed with
// the first reply that proves it: one that was asked for, by what was believed, after the time that
// it tells. So whoever has read a record judges its lease by a time that is not ahead of the
// server's when it gave the record.
class PostgresClock {
 public:
  using Steady = std::chrono::steady_clock;

  // One thread. `server_ms` was read by the server after it was asked at `asked` and before the
  // reply was received at `now`.
  void saw(std::int64_t server_ms, Steady::time_point asked, Steady::time_point now) {
    const std::int64_t offset_max = server_ms + 1 - whole_ms(asked);
    if (std::max(current_, before_) > offset_max) forget();
    // The server rounds to the nearest millisecond, and steady time is cut below.
    const std::int64_t offset = server_ms - 1 - whole_ms(now);
    if (now - begun_ >= kWindow) {
      before_ = now - begun_ >= 2 * kWindow ? kUnknown : current_;
      current_ = kUnknown;
      begun_ = now;
    }
    current_ = std::max(current_, offset);
    offset_.store(std::max(current_, before_), std::memory_order_relaxed);
  }
  // Compares it with the time since this machine was booted. Any thread.
  void note_steps(const Clock& machine) {
    if (offset_ == kUnknown) return;
    steps_.look([this] { return *at(Steady::now()); }, [&] { return machine.since_boot(); });
  }
  // `now`, a time of the database's, less by what its clock was set forward since this process
  // knows it: what is past its time by this is so without any step. Any thread.
  Time settled(Time now) const { return now - steps_.lag_of(Time::min()); }

  // The next reply may come from another server. Until then the time goes on as it was known: a
  // jump to another clock would put off the renewal of leases, or end waits.
  void forget() { current_ = before_ = kUnknown; }

  // Any thread. nullopt: no reply has told it yet.
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
  ClockSteps steps_;
  std::int64_t current_ = kUnknown;
  std::int64_t before_ = kUnknown;
  Steady::time_point begun_{};
};

}  // namespace semel
