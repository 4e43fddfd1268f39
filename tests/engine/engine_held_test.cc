// A record that somebody holds in an open transaction of their own, in the store's database: it is
// in progress, and nobody waits for it longer than they must.
#include <gtest/gtest.h>

#include "support/engine_bench.h"

namespace semel::engine {
namespace {

using namespace support;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Fault = PlainStore::Fault;

class HeldTest : public ::testing::Test, public EngineBench {
 protected:
  Engine& a = add_engine("a");
};

TEST_F(HeldTest, AKeyThatSomebodyIsAboutToClaimIsInProgress) {
  store.next_swaps({Fault::held});
  Admission admission = run(a.admit(call("k")));
  const auto& busy = std::get<admission::Busy>(admission);
  EXPECT_EQ(busy.record->state, RecordState::in_progress);
  EXPECT_EQ(busy.record->id, id_of("k"));
  EXPECT_EQ(busy.record->token, Token{});
  EXPECT_EQ(a.running().executions, 0u);
  EXPECT_EQ(claim(a, "k").record->attempt, 1u);  // they have rolled back
}

TEST_F(HeldTest, AReleasedKeyThatSomebodyIsClaimingIsInProgress) {
  run(a.finish(claim(a, "k"), retry_outcome()));
  store.next_swaps({Fault::none, Fault::held});  // the first finds it, the second would claim it
  Admission admission = run(a.admit(call("k")));
  EXPECT_TRUE(std::holds_alternative<admission::Busy>(admission));
  EXPECT_EQ(state("k"), RecordState::released);
}

TEST_F(HeldTest, WhatWasCommittedMeanwhileIsSeen) {
  EngineClaim first = claim(a, "k");
  Engine& b = add_engine("b");
  run(a.finish(first, final_outcome("done")));
  store.next_swaps({Fault::held});
  EXPECT_TRUE(std::holds_alternative<admission::Replay>(run(b.admit(call("k")))));
}

TEST_F(HeldTest, AnOutcomeIsWrittenWhenTheRecordIsFreeAgain) {
  EngineClaim first = claim(a, "k");
  store.next_swaps({Fault::held, Fault::held, Fault::held});
  Finished finished = run(a.finish(first, final_outcome("done")));
  EXPECT_TRUE(std::holds_alternative<finish::Recorded>(finished));
  EXPECT_EQ(record("k")->answer.body, "done");
}

TEST_F(HeldTest, AnOutcomeOfARecordThatStaysHeldIsPendingAndLandsLater) {
  EngineClaim first = claim(a, "k");
  store.next_swaps(std::initializer_list<Fault>{});
  for (int i = 0; i < 14; ++i) store.next_swaps({Fault::held});
  Finished finished = run(a.finish(first, final_outcome("done")));
  EXPECT_TRUE(std::holds_alternative<finish::Pending>(finished));
  time.run_for(seconds(30));
  EXPECT_EQ(record("k")->answer.body, "done");
}

// "completes: executor": to say "unknown" is what the executor's own commit forestalls.
TEST_F(HeldTest, WhatItsHolderCommitsWinsOverAnUnknownOutcome) {
  EngineClaim first = claim(a, "k");
  store.next_swaps({Fault::held});
  Later<Finished> finished = start(a.finish(first, unknown_outcome()));
  Record committed = *record("k");
  committed.state = RecordState::completed;
  committed.answer.status = 201;
  store.model().swap(committed.id, committed.version, committed);
  time.run_for(seconds(1));
  const auto& stale = std::get<finish::Stale>(finished.value());
  ASSERT_TRUE(stale.record);
  EXPECT_EQ(stale.record->state, RecordState::completed);
  EXPECT_EQ(stale.record->token, first.record->token);
  EXPECT_EQ(stale.record->answer.status, 201);
}

TEST_F(HeldTest, TheSweeperPassesByWhatIsHeld) {
  claim(a, "k");
  claim(a, "l");
  time.run_for(operation.lease + kSkew + milliseconds(1));
  Engine& b = add_engine("b");
  store.next_swaps({Fault::held});
  const Time before = time.now();
  EXPECT_EQ(run(b.sweep_once()), 1u);
  EXPECT_LT(time.now() - before, milliseconds(100));
  EXPECT_EQ(run(b.sweep_once()), 1u);
}

}  // namespace
}  // namespace semel::engine
