#include "engine/clock_steps.h"

#include <algorithm>

namespace semel {
namespace {

// Less is no step: a clock that is slewed, a clock read late. For so much a key may expire early.
constexpr Duration kTolerance = std::chrono::seconds(1);
// How long differences add up before they are taken for the clock's drift. A clock that runs fast
// by more than the tolerance in this time is a clock that is being set.
constexpr Duration kAnchorEvery = std::chrono::minutes(1);
// Between the readings of two clocks that are compared; so often it is tried to do without more.
constexpr Duration kHeldUpMax = std::chrono::milliseconds(50);
constexpr int kTriesMax = 20;
// More are taken for one, as late as the last of them.
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
    // Whoever was held up in between has read two clocks at two times.
    if (after - before <= kHeldUpMax || tries == kTriesMax) return compare(now, after);
  }
}

std::optional<Duration> ClockSteps::compare(Time wall, SteadyTime since_boot) {
  if (!anchor_) {
    anchor_ = {wall, since_boot};
    return std::nullopt;
  }
  // Whoever read the clocks before another did, and tells of it after him, has nothing to add.
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
  // Between what was stamped last by the clock as it was and what was stamped first by the clock as
  // it is, before this was noticed.
  steps_.push_back({expected + step / 2, step});
  if (steps_.size() > kStepsMax) {
    steps_[1].by += steps_[0].by;
    steps_.erase(steps_.begin());
  }
  any_ = true;
  return step;
}

// A step that is taken back was none.
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

}  // namespace semel
