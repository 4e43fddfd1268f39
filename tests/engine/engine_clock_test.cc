// A clock that is set. Keys expire when their ttl has really passed, whatever the clock says.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "engine/clock_steps.h"
#include "support/engine_bench.h"

namespace semel::engine {
namespace {

using namespace support;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class ClockTest : public ::testing::Test, public EngineBench {
 protected:
  ClockTest() { operation.ttl = minutes(6); }
  void complete(const std::string& key) { run(a.finish(claim(a, key), final_outcome("paid"))); }
  bool replays(const std::string& key) {
    return std::holds_alternative<admission::Replay>(run(a.admit(call(key))));
  }
  RecordPtr at_hand(const std::string& key) {
    const Call asked = call(key);
    return a.recorded(id_of(key), asked.recipe, asked.fingerprint, asked.operation);
  }

  static constexpr Duration kFar = hours(24 * 30);
  Engine& a = add_engine("a");
};

TEST_F(ClockTest, AForwardStepExpiresNothing) {
  complete("k");
  clock.set_offset(kFar);
  EXPECT_TRUE(at_hand("k"));
  EXPECT_TRUE(replays("k"));
  EXPECT_EQ(observer.stepped, kFar);
}

TEST_F(ClockTest, TheSweeperRemovesNothingEarlyAfterAForwardStep) {
  complete("k");
  start(a.sweep_forever());
  clock.set_offset(kFar);
  time.run_for(minutes(5));
  EXPECT_EQ(state("k"), RecordState::completed);
  EXPECT_TRUE(replays("k"));
  time.run_for(minutes(2));
  EXPECT_FALSE(record("k"));
}

// Records that the sweeper puts off do not come first again and again.
TEST_F(ClockTest, TheSweeperIsNotHeldUpByWhatIsNotOver) {
  for (std::size_t i = 0; i < 2 * kSweepBatch; ++i) complete("k" + std::to_string(i));
  claim(a, "lost");
  Engine& b = add_engine("b");
  time.run_for(minutes(5));
  clock.set_offset(kFar);
  start(b.sweep_forever());
  time.run_for(seconds(5));
  EXPECT_EQ(state("lost"), RecordState::unknown);
  EXPECT_EQ(store.model().records().size(), 2 * kSweepBatch + 1);
}

TEST_F(ClockTest, WhatIsStampedAfterTheStepExpiresInItsTime) {
  start(a.keep());
  clock.set_offset(kFar);
  time.run_for(seconds(1));
  complete("k");
  time.run_for(minutes(5));
  EXPECT_TRUE(replays("k"));
  time.run_for(minutes(2));
  EXPECT_FALSE(at_hand("k"));
  EXPECT_FALSE(replays("k"));
}

// Counted from its creation it would be over before it was completed.
TEST_F(ClockTest, WhatIsCompletedAfterAStepIsKeptThoughItsTtlCountsFromItsCreation) {
  operation.ttl_from_creation = true;
  EngineClaim running = claim(a, "k");
  clock.set_offset(kFar);
  run(a.finish(running, final_outcome("paid")));
  EXPECT_TRUE(replays("k"));
  time.run_for(minutes(7));
  EXPECT_FALSE(replays("k"));
}

TEST_F(ClockTest, TheSweeperLeavesATombstoneForItsWholeTimeAfterAForwardStep) {
  operation.tombstone = hours(1);
  complete("k");
  time.run_for(minutes(7));
  clock.set_offset(kFar);
  run(a.sweep_once());
  EXPECT_EQ(state("k"), RecordState::tombstone);
  EXPECT_TRUE(std::holds_alternative<admission::Expired>(run(a.admit(call("k")))));
  time.run_for(hours(1));
  run(a.sweep_once());
  EXPECT_FALSE(record("k"));
}

TEST_F(ClockTest, StepsAddUp) {
  start(a.keep());
  complete("k");
  clock.set_offset(hours(2));
  time.run_for(minutes(1));
  clock.set_offset(hours(4));
  time.run_for(minutes(4));
  EXPECT_TRUE(replays("k"));
  time.run_for(minutes(2));
  EXPECT_FALSE(replays("k"));
}

TEST_F(ClockTest, AStepThatIsTakenBackWasNone) {
  start(a.keep());
  complete("k");
  clock.set_offset(kFar);
  time.run_for(minutes(1));
  clock.set_offset(Duration{0});
  time.run_for(minutes(4));
  EXPECT_TRUE(replays("k"));
  time.run_for(minutes(2));
  EXPECT_FALSE(replays("k"));
}

TEST_F(ClockTest, AHeldOutcomeIsHeldForAsLongAsItWasSaid) {
  operation.hold_for = hours(2);
  run(a.finish(claim(a, "k"), unknown_outcome()));
  clock.set_offset(kFar);
  EXPECT_TRUE(std::holds_alternative<admission::OutcomeUnknown>(run(a.admit(call("k")))));
  run(a.sweep_once());
  EXPECT_EQ(state("k"), RecordState::unknown);
  const Resolution release{.answer = {}, .who = "operator", .why = "nothing in the books"};
  EXPECT_TRUE(std::holds_alternative<resolve::Done>(run(a.resolve(id_of("k"), release))));
}

TEST_F(ClockTest, ATombstoneStaysForAsLongAsItWasSaid) {
  operation.tombstone = hours(24);
  complete("k");
  time.run_for(hours(2));
  run(a.sweep_once());
  ASSERT_EQ(state("k"), RecordState::tombstone);
  clock.set_offset(kFar);
  EXPECT_TRUE(std::holds_alternative<admission::Expired>(run(a.admit(call("k")))));
  run(a.sweep_once());
  EXPECT_EQ(state("k"), RecordState::tombstone);
}

TEST_F(ClockTest, AStepOfTheStoresOwnClockExpiresNothingEither) {
  store.set_now(clock.now());
  complete("k");
  store.set_now(clock.now() + kFar);
  EXPECT_TRUE(replays("k"));
}

TEST_F(ClockTest, TheStoresClockDecidesForWhoeverUsesTheEngine) {
  const Time by_store = clock.now() + hours(5);
  store.set_now(by_store);
  EXPECT_EQ(a.clock().now(), by_store);
  EXPECT_EQ(claim(a, "k").record->created_at, by_store);
}

// As on a store that processes share and whose clock does not decide.
TEST_F(ClockTest, OtherClocksMayBeASecondBehind) {
  Engine b(store, clock, tokens, observer, {.owner = {"b", 9}});
  b.run_on(io.get_executor());
  claim(a, "k");
  time.run_for(operation.lease + milliseconds(900));
  EXPECT_TRUE(std::holds_alternative<admission::Busy>(run(b.admit(call("k")))));
  store.set_now(clock.now());
  EXPECT_TRUE(std::holds_alternative<admission::OutcomeUnknown>(run(b.admit(call("k")))));
}

class ClockStepsTest : public ::testing::Test {
 protected:
  // Shows `steps` the clocks after `passed`, with the wall clock off by `off`.
  std::optional<Duration> saw(Duration passed, Duration off) {
    return steps.saw(kBegin + passed + off, SteadyTime(passed));
  }
  Time stamped(Duration passed, Duration off = Duration{0}) const { return kBegin + passed + off; }

  static constexpr Time kBegin{std::chrono::sys_days{std::chrono::year{2030} / 1 / 1}};
  ClockSteps steps;
};

TEST_F(ClockStepsTest, AClockThatIsSlewedIsNotSet) {
  for (int minute = 0; minute < 24 * 60; ++minute) {
    EXPECT_EQ(saw(minutes(minute), milliseconds(30 * minute)), std::nullopt);  // 500 ppm
  }
  EXPECT_EQ(steps.lag_of(stamped(minutes(0))), Duration{0});
}

TEST_F(ClockStepsTest, AClockThatRunsFastIsBeingSet) {
  for (int second = 0; second <= 600; ++second) saw(seconds(second), seconds(second));
  EXPECT_GE(steps.lag_of(stamped(seconds(0))), seconds(590));
}

TEST_F(ClockStepsTest, OneLooksAtATime) {
  const auto since_boot = [] { return SteadyTime(seconds(1)); };
  std::atomic<bool> has_read = false;
  std::thread other;
  steps.look(
      [&] {
        other = std::thread([&] {
          steps.look(
              [&] {
                has_read = true;
                return kBegin;
              },
              since_boot);
        });
        std::this_thread::sleep_for(milliseconds(20));
        EXPECT_FALSE(has_read);
        return kBegin;
      },
      since_boot);
  other.join();
  EXPECT_TRUE(has_read);
}

TEST_F(ClockStepsTest, WhoIsHeldUpBetweenTheClocksLooksAgain) {
  saw(seconds(0), seconds(0));
  // The last one first: eight seconds pass between the first two readings.
  std::vector<Duration> since_boot = {seconds(9), seconds(9), seconds(9), seconds(1)};
  std::vector<Duration> off = {hours(1), seconds(0)};
  const auto take = [](std::vector<Duration>& from) {
    const Duration last = from.back();
    from.pop_back();
    return last;
  };
  EXPECT_EQ(steps.look([&] { return kBegin + seconds(9) + take(off); },
                       [&] { return SteadyTime(take(since_boot)); }),
            hours(1));
}

TEST_F(ClockStepsTest, OnlyWhatWasStampedBeforeTheStepLags) {
  saw(seconds(0), seconds(0));
  EXPECT_EQ(saw(seconds(10), hours(1)), hours(1));
  EXPECT_EQ(steps.lag_of(stamped(seconds(9))), hours(1));
  EXPECT_EQ(steps.lag_of(stamped(seconds(9), hours(1))), Duration{0});  // just after it
  EXPECT_EQ(saw(seconds(20), hours(3)), hours(2));
  EXPECT_EQ(steps.lag_of(stamped(seconds(9))), hours(3));
  EXPECT_EQ(steps.lag_of(stamped(seconds(15), hours(1))), hours(2));
}

TEST_F(ClockStepsTest, ManyStepsAreTakenForOne) {
  saw(seconds(0), seconds(0));
  for (int step = 1; step <= 100; ++step) saw(seconds(step), hours(step));
  EXPECT_EQ(steps.lag_of(stamped(seconds(0))), hours(100));
}

TEST_F(ClockStepsTest, AStepBackIsToldAndTakesBackWhatItCan) {
  saw(seconds(0), seconds(0));
  saw(seconds(1), hours(3));
  EXPECT_EQ(saw(seconds(2), hours(1)), -hours(2));
  EXPECT_EQ(steps.lag_of(stamped(seconds(0))), hours(1));
  saw(seconds(3), -hours(1));
  EXPECT_EQ(steps.lag_of(stamped(seconds(0))), Duration{0});
}

}  // namespace
}  // namespace semel::engine
