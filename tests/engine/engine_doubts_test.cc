// While a store doubts the clock, nothing is over by it. While it doubts itself, nothing new
// begins.
#include <gtest/gtest.h>

#include "support/engine_bench.h"

namespace semel::engine {
namespace {

using namespace support;
using std::chrono::hours;

constexpr StoreDoubts kDoubtsClock{.clock = true, .claims = false};
constexpr StoreDoubts kDoubtsClaims{.clock = false, .claims = true};

class DoubtsTest : public ::testing::Test, public EngineBench {
 protected:
  template <typename T>
  bool is_told(Engine& engine, const std::string& key) {
    return std::holds_alternative<T>(run(engine.admit(call(key))));
  }
  void complete(Engine& engine, const std::string& key) {
    EngineClaim first = claim(engine, key);
    run(engine.finish(first, final_outcome("paid")));
  }
  void days_pass(StoreDoubts doubts) {
    time.run_for(hours(24 * 30));  // not a step: that, the engine notices by itself
    store.set_doubts(doubts);
  }

  Engine& a = add_engine("a");
  Engine& b = add_engine("b");
};

TEST_F(DoubtsTest, WhatIsCompletedIsReplayedHoweverLateItSeems) {
  complete(a, "k");
  days_pass(kDoubtsClock);
  EXPECT_TRUE(is_told<admission::Replay>(b, "k"));
  EXPECT_EQ(run(b.sweep_once()), 0u);
  EXPECT_EQ(state("k"), RecordState::completed);
  store.set_doubts({});
  EXPECT_FALSE(is_told<admission::Replay>(b, "k"));
}

TEST_F(DoubtsTest, NoLeaseIsOver) {
  operation.unknown = UnknownPolicy::retry;
  EngineClaim running = claim(a, "k");
  days_pass(kDoubtsClock);
  EXPECT_TRUE(is_told<admission::Busy>(b, "k"));
  EXPECT_EQ(run(b.sweep_once()), 0u);
  Resolution release;
  release.who = "operator";
  release.why = "it looks dead";
  EXPECT_TRUE(std::holds_alternative<resolve::Refused>(run(b.resolve(id_of("k"), release))));
  EXPECT_TRUE(std::holds_alternative<finish::Recorded>(run(a.finish(running, final_outcome("x")))));
}

TEST_F(DoubtsTest, ATombstoneStays) {
  complete(a, "k");
  Record tombstone = *record("k");
  tombstone.state = RecordState::tombstone;
  tombstone.tombstone_until = clock.now() + hours(1);
  store.model().swap(tombstone.id, tombstone.version, tombstone);
  days_pass(kDoubtsClock);
  EXPECT_TRUE(is_told<admission::Expired>(b, "k"));
  EXPECT_EQ(state("k"), RecordState::tombstone);
}

// Whether its key may run again or has expired, only the clock can tell.
TEST_F(DoubtsTest, WhatOnlyTheClockCanTellIsNotTold) {
  EngineClaim first = claim(a, "k");
  run(a.finish(first, retry_outcome()));
  EXPECT_EQ(state("k"), RecordState::released);
  Record released = *record("k");
  released.tombstone_until = clock.now() + hours(24 * 60);
  store.model().swap(released.id, released.version, released);
  days_pass(kDoubtsClock);
  EXPECT_TRUE(is_told<StoreUnavailable>(b, "k"));
}

TEST_F(DoubtsTest, WhatIsNewGoesOnWhileOnlyTheClockIsDoubted) {
  days_pass(kDoubtsClock);
  complete(a, "k");
  EXPECT_TRUE(is_told<admission::Replay>(b, "k"));
}

TEST_F(DoubtsTest, NothingNewBeginsInAStoreThatDoubtsItself) {
  complete(a, "done");
  EngineClaim running = claim(a, "running");
  EngineClaim failed = claim(a, "failed");
  run(a.finish(failed, retry_outcome()));
  store.set_doubts(kDoubtsClaims);
  const int swaps = store.swaps();
  EXPECT_TRUE(is_told<StoreUnavailable>(a, "new"));
  EXPECT_TRUE(is_told<StoreUnavailable>(a, "failed"));
  EXPECT_EQ(store.swaps(), swaps) << "nothing was even tried";
  EXPECT_FALSE(record("new"));
  EXPECT_TRUE(is_told<admission::Replay>(b, "done"));
  EXPECT_TRUE(is_told<admission::Busy>(b, "running"));
  EXPECT_TRUE(std::holds_alternative<finish::Recorded>(run(a.finish(running, final_outcome("x")))));
  store.set_doubts({});
  EXPECT_TRUE(is_told<admission::Execute>(a, "new"));
}

TEST_F(DoubtsTest, QueuedWorkWaits) {
  Call later = call("k");
  later.request = "POST pay 10";
  const auto queued = std::get<admission::Queued>(run(a.admit(later))).record;
  store.set_doubts(kDoubtsClaims);
  EXPECT_TRUE(std::holds_alternative<StoreUnavailable>(run(a.start(queued, operation))));
  EXPECT_EQ(state("k"), RecordState::queued);
  store.set_doubts({});
  EXPECT_TRUE(std::holds_alternative<EngineClaim>(run(a.start(queued, operation))));
}

}  // namespace
}  // namespace semel::engine
