// The engine's background work: leases, expiry, recovery after a restart.
#include <gtest/gtest.h>

#include "support/engine_bench.h"

namespace semel::engine {
namespace {

using namespace support;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class UpkeepTest : public ::testing::Test, public EngineBench {
 protected:
  void complete(Engine& engine, const std::string& key) {
    EngineClaim first = claim(engine, key);
    run(engine.finish(first, final_outcome("paid")));
  }

  Engine& a = add_engine("a");
};

TEST_F(UpkeepTest, ASlowExecutionKeepsItsLease) {
  operation.unknown = UnknownPolicy::retry;
  Engine& b = add_engine("b");
  start(a.keep());
  EngineClaim slow = claim(a, "k");
  for (int i = 0; i < 10; ++i) {
    time.run_for(seconds(30));
    EXPECT_TRUE(std::holds_alternative<admission::Busy>(run(b.admit(call("k")))));
  }
  EXPECT_TRUE(std::holds_alternative<finish::Recorded>(run(a.finish(slow, final_outcome("slow")))));
  EXPECT_EQ(observer.leases_lost, 0);
}

TEST_F(UpkeepTest, ARenewalSurvivesAShortOutage) {
  Engine& b = add_engine("b");
  start(a.keep());
  claim(a, "k");
  store.set_down(true);
  time.run_for(seconds(15));
  store.set_down(false);
  time.run_for(seconds(30));
  EXPECT_TRUE(std::holds_alternative<admission::Busy>(run(b.admit(call("k")))));
}

TEST_F(UpkeepTest, ALeaseIsNotRenewedForEver) {
  operation.max_execution = minutes(2);
  Engine& b = add_engine("b");
  start(a.keep());
  claim(a, "k");
  time.run_for(minutes(2) + seconds(32));
  EXPECT_TRUE(std::holds_alternative<admission::OutcomeUnknown>(run(b.admit(call("k")))));
}

TEST_F(UpkeepTest, ALeaseThatWasLostIsReported) {
  operation.unknown = UnknownPolicy::retry;
  Engine& b = add_engine("b");
  claim(a, "k");
  time.run_for(minutes(1));  // a hangs
  claim(b, "k");
  start(a.keep());
  time.run_for(seconds(1));
  EXPECT_EQ(observer.leases_lost, 1);
}

// A renewal that was held up must not cut short the lease that a later one has written.
TEST_F(UpkeepTest, ARenewalCountsFromWhenItIsWritten) {
  start(a.keep());
  claim(a, "k");
  Time promised{};
  store.before_next_swap([&] {
    clock.set_offset(seconds(20));  // it was on its way for twenty seconds
    Record renewed = *record("k");
    promised = clock.now() + seconds(30);
    renewed.lease_until = promised;
    store.model().swap(renewed.id, renewed.version, renewed);
  });
  time.run_for(seconds(11));
  EXPECT_NE(promised, Time{});
  EXPECT_GE(record("k")->lease_until, promised);
}

// Trap 33.
TEST_F(UpkeepTest, AForwardClockStepTakesNothingFromARunningExecution) {
  operation.unknown = UnknownPolicy::retry;
  EngineClaim running = claim(a, "k");
  clock.set_offset(hours(24 * 30));
  EXPECT_EQ(run(a.sweep_once()), 0u);
  EXPECT_TRUE(std::holds_alternative<admission::Busy>(run(a.admit(call("k")))));
  EXPECT_TRUE(std::holds_alternative<finish::Recorded>(run(a.finish(running, final_outcome("")))));
}

TEST_F(UpkeepTest, TheSweeperWorksInBatches) {
  operation.ttl = seconds(1);
  for (std::size_t i = 0; i < kSweepBatch * 2 + 5; ++i) complete(a, "k" + std::to_string(i));
  time.run_for(seconds(2));
  EXPECT_EQ(run(a.sweep_once()), kSweepBatch);
  EXPECT_EQ(run(a.sweep_once()), kSweepBatch);
  EXPECT_EQ(run(a.sweep_once()), 5u);
  EXPECT_EQ(run(a.sweep_once()), 0u);
  EXPECT_TRUE(store.model().records().empty());
}

TEST_F(UpkeepTest, TheSweeperDoesNotWaitLongBetweenFullBatches) {
  operation.ttl = seconds(1);
  for (std::size_t i = 0; i < kSweepBatch * 10; ++i) complete(a, "k" + std::to_string(i));
  time.run_for(seconds(2));
  start(a.sweep_forever());
  time.run_for(seconds(1));
  EXPECT_TRUE(store.model().records().empty());
}

TEST_F(UpkeepTest, TheSweeperLeavesWhatIsNotDue) {
  complete(a, "completed");
  EngineClaim held = claim(a, "unknown");
  run(a.finish(held, unknown_outcome()));
  claim(a, "in progress");
  time.run_for(seconds(20));
  EXPECT_EQ(run(a.sweep_once()), 0u);
  EXPECT_EQ(store.model().records().size(), 3u);
}

TEST_F(UpkeepTest, TheSweeperFindsWhatOtherNodesLeftBehind) {
  claim(a, "k");
  Engine& b = add_engine("b");
  time.run_for(seconds(30) + kSkew - milliseconds(10));
  EXPECT_EQ(run(b.sweep_once()), 0u);  // by the other's clock it may be alive
  time.run_for(milliseconds(20));
  EXPECT_EQ(run(b.sweep_once()), 1u);
  EXPECT_EQ(state("k"), RecordState::unknown);
}

// A record may be claimed by this engine between the sweeper's read and its write.
TEST_F(UpkeepTest, TheSweeperDoesNotTouchTheClaimThatCrossedIt) {
  store.set_exclusive(true);
  operation.unknown = UnknownPolicy::retry;
  Engine& before = add_engine("a");
  claim(before, "k");
  Engine& restarted = add_engine("a");
  time.run_for(minutes(1));
  Later<Admission> taking = start(restarted.admit(call("k")));
  Later<std::size_t> sweeping = start(restarted.sweep_once());  // reads the orphan, writes second
  time.run_for(seconds(1));
  EXPECT_TRUE(std::holds_alternative<admission::Execute>(taking.value()));
  EXPECT_EQ(sweeping.value(), 0u);
  EXPECT_EQ(state("k"), RecordState::in_progress);
}

TEST_F(UpkeepTest, WhatAnEarlierRunLeftInProgressIsUnknownAtOnce) {
  store.set_exclusive(true);
  Engine& before = add_engine("a");
  for (int i = 0; i < 25; ++i) claim(before, "k" + std::to_string(i));
  complete(before, "done");

  Engine& restarted = add_engine("a");
  // Requests need not wait for recovery.
  EXPECT_TRUE(std::holds_alternative<admission::OutcomeUnknown>(run(restarted.admit(call("k0")))));
  claim(restarted, "new");
  start(restarted.recover());
  time.run_for(seconds(1));
  for (int i = 0; i < 25; ++i) EXPECT_EQ(state("k" + std::to_string(i)), RecordState::unknown) << i;
  EXPECT_EQ(state("done"), RecordState::completed);
  EXPECT_EQ(state("new"), RecordState::in_progress);  // it runs here
}

TEST_F(UpkeepTest, OnASharedStoreARestartProvesNothing) {
  claim(a, "k");
  Engine& restarted = add_engine("a");
  start(restarted.recover());
  time.run_for(seconds(1));
  EXPECT_EQ(state("k"), RecordState::in_progress);
}

TEST_F(UpkeepTest, RunningTellsTheOldest) {
  EXPECT_EQ(a.running().oldest, std::nullopt);
  const Time first_at = clock.now();
  claim(a, "first");
  time.run_for(seconds(3));
  claim(a, "second");
  EXPECT_EQ(a.running().executions, 2u);
  EXPECT_EQ(a.running().oldest, first_at);
}

TEST_F(UpkeepTest, StopEndsTheLoops) {
  start(a.keep());
  start(a.sweep_forever());
  time.run_for(seconds(3));
  a.stop();
  time.run_for(seconds(3));
  const int swaps = store.swaps();
  time.run_for(minutes(1));
  EXPECT_EQ(store.swaps(), swaps);
}

// max_execution ends renewals; a clock that is set forward by more than that must not.
TEST_F(UpkeepTest, AClockThatIsSetForwardDoesNotEndTheRenewals) {
  start(a.keep());
  operation.max_execution = std::chrono::minutes(15);
  EngineClaim running = claim(a, "k");
  clock.set_offset(std::chrono::hours(1));
  time.run_for(std::chrono::minutes(5));
  EXPECT_GT(record("k")->lease_until, clock.now());
  EXPECT_EQ(record("k")->token, running.record->token);
  time.run_for(std::chrono::minutes(12));
  EXPECT_LT(record("k")->lease_until, clock.now());
}

}  // namespace
}  // namespace semel::engine
