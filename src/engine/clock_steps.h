#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "semel/driver/clock.h"

namespace semel::engine {

// Tracks by how much the wall clock was set forward after records were stamped. Such a record is
// not as old as the clock says: it expires later by that much. Records stamped after the step have
// their time from the new clock, and are not affected.
//
// Compares the wall clock with the time since boot, which nobody sets. Steps that happened while no
// process ran go unnoticed. Thread-safe.
class ClockSteps {
 public:
  // Takes in what both clocks show at one moment. Returns the step that this reveals: positive is
  // forward.
  std::optional<Duration> saw(Time wall, SteadyTime since_boot);
  // Reads both clocks, one caller at a time: if two readings overlapped, the one reported last
  // could show the old time, and look like a step back.
  std::optional<Duration> look(const std::function<Time()>& wall,
                               const std::function<SteadyTime()>& since_boot);
  // Returns how much later a record expires that was stamped at `stamped`.
  Duration lag_of(Time stamped) const;

 private:
  struct Anchor {
    Time wall;
    SteadyTime since_boot;
  };
  struct Step {
    Time at;  // earlier stamps are from the clock before the step
    Duration by;
  };
  std::optional<Duration> compare(Time wall, SteadyTime since_boot);
  void went_back(Duration by);

  mutable std::mutex mutex_;
  std::optional<Anchor> anchor_;
  std::vector<Step> steps_;
  std::atomic<bool> any_ = false;
};

}  // namespace semel::engine
