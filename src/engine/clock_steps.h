#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "semel/clock.h"

namespace semel {

// By how much the wall clock was set forward under records that were stamped before. Such a record
// is not as old as the clock says: it expires later by that much. What is stamped after the step
// has its time from the new clock, and is not touched.
//
// The wall clock is compared with the time since the machine was booted, which nobody sets. What
// happened while no process ran cannot be seen. Thread-safe.
class ClockSteps {
 public:
  // What both clocks show at one moment. Returns the step that this tells of: positive is forward.
  std::optional<Duration> saw(Time wall, SteadyTime since_boot);
  // Reads both, one caller at a time: of two readings that overlap, the one that is told of last
  // could show the clock as it was, and pass for a step back.
  std::optional<Duration> look(const std::function<Time()>& wall,
                               const std::function<SteadyTime()>& since_boot);
  // How much later a record expires that was stamped at `stamped`.
  Duration lag_of(Time stamped) const;

 private:
  struct Anchor {
    Time wall;
    SteadyTime since_boot;
  };
  struct Step {
    Time at;  // what was stamped earlier was so by the clock as it was before
    Duration by;
  };
  std::optional<Duration> compare(Time wall, SteadyTime since_boot);
  void went_back(Duration by);

  mutable std::mutex mutex_;
  std::optional<Anchor> anchor_;
  std::vector<Step> steps_;
  std::atomic<bool> any_ = false;
};

}  // namespace semel
