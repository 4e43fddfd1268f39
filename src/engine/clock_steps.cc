#include "engine/clock_steps.h"

#include <algorithm>

namespace semel::engine {
namespace {

// A smaller difference is not a step but a clock that is slewed, or was read late. A key may expire
// early by this much.
constexpr Duration kTolerance = std::chrono::seconds(1);
// How long differences add up before they count as drift. A clock that gains more than the
// tolerance in this time is a clock that is being set.
constexpr Duration kAnchorEvery = std::chrono::minutes(1);
// The longest time between the readings of two clocks that are compared, and how often to try for
// it.
constexpr Duration kHeldUpMax = std::chrono::milliseconds(50);
constexpr int kTriesMax = 20;
// If there are more, the oldest two are merged into one at the time of the later.
constexpr std::size_t kStepsMax = 16;

}  // namespace

std::optional<Duration> ClockSteps::saw(Time wall, SteadyTime since_boot) {
  const std::lock_guard lock(mutex_);
  return compare(wall, since_boot);
}

std::optional<Duration> ClockSteps::look(const std::function<Time()>& wall,
                                         const std::function<SteadyTime()>& since_boot) {
  const std::lock_guard lock(mutex_);
  for (int tries = 1;; ++tries) {
    const SteadyTime before = since_boot();
    const Time now = wall();
    const SteadyTime after = since_boot();
    // A thread that was held up in between has read the two clocks at different times.
    if (after - before <= kHeldUpMax || tries == kTriesMax) return compare(now, after);
  }
}

std::optional<Duration> ClockSteps::compare(Time wall, SteadyTime since_boot) {
  if (!anchor_) {
    anchor_ = {wall, since_boot};
    return std::nullopt;
  }
  // A reading that is older than the last one, but reported later, adds nothing.
  if (since_boot < anchor_->since_boot) return std::nullopt;
  const Duration passed = since_boot - anchor_->since_boot;
  const Duration step = wall - anchor_->wall - passed;
  const bool is_step = step > kTolerance || step < -kTolerance;
  if (!is_step && passed < kAnchorEvery) return std::nullopt;
  const Time expected = anchor_->wall + passed;
  anchor_ = {wall, since_boot};
  if (!is_step) return std::nullopt;
  if (step < Duration{0}) {
    went_back(-step);
    return step;
  }
  // Between the last stamp by the old clock and the first stamp by the new clock before the step
  // was noticed.
  steps_.push_back({expected + step / 2, step});
  if (steps_.size() > kStepsMax) {
    steps_[1].by += steps_[0].by;
    steps_.erase(steps_.begin());
  }
  any_ = true;
  return step;
}

// A step that is taken back does not count.
void ClockSteps::went_back(Duration by) {
  while (!steps_.empty() && by > Duration{0}) {
    const Duration undone = std::min(by, steps_.back().by);
    steps_.back().by -= undone;
    by -= undone;
    if (steps_.back().by <= kTolerance) steps_.pop_back();
  }
  any_ = !steps_.empty();
}

Duration ClockSteps::lag_of(Time stamped) const {
  if (!any_) return Duration{0};
  const std::lock_guard lock(mutex_);
  Duration lag{0};
  for (const Step& step : steps_) {
    if (stamped < step.at) lag += step.by;
  }
  return lag;
}

}  // namespace semel::engine
