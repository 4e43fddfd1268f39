// A write of unknown fate. It may be there, be on its way, or be seen for a while and then be gone,
// as after a failover to a server that never had it. Only a write tells, and nothing else is
// believed meanwhile.
#include <gtest/gtest.h>

#include "support/engine_bench.h"

namespace semel::engine {
namespace {

using namespace support;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Fault = PlainStore::Fault;

class UnsureTest : public ::testing::Test, public EngineBench {
 protected:
  // Runs until somebody has found, by a swap that came too late, what `before` was replaced by; and
  // then that is gone.
  void lose_what_was_seen(const std::string& key, const std::optional<Record>& before) {
    const int swaps = store.swaps();
    while (store.swaps() == swaps) time.run_for(milliseconds(1));
    store.model().take_back(id_of(key), before);
  }

  Engine& a = add_engine("a");
};

TEST_F(UnsureTest, AClaimThatWasSeenAndThenLostIsNotExecutedBeforeItIsWrittenAgain) {
  store.next_swaps({Fault::lost_reply});
  Later<Admission> admission = start(a.admit(call("k")));
  time.run_for(milliseconds(2));
  ASSERT_EQ(state("k"), RecordState::in_progress);
  lose_what_was_seen("k", std::nullopt);
  EXPECT_FALSE(admission.done());
  time.run_for(seconds(1));
  EXPECT_EQ(*std::get<admission::Execute>(admission.value()).claim.record, record("k"));
}

TEST_F(UnsureTest, AnOutcomeThatWasSeenAndThenLostIsWrittenAgain) {
  const EngineClaim first = claim(a, "k");
  store.next_swaps({Fault::lost_reply});
  Later<Finished> finished = start(a.finish(first, final_outcome("paid")));
  time.run_for(milliseconds(2));
  ASSERT_EQ(state("k"), RecordState::completed);
  lose_what_was_seen("k", *first.record);
  EXPECT_FALSE(finished.done());
  time.run_for(seconds(1));
  EXPECT_EQ(*std::get<finish::Recorded>(finished.value()).record, record("k"));
}

TEST_F(UnsureTest, AnOutcomeThatALaterTryFindsRecordedIsWrittenAgain) {
  const EngineClaim first = claim(a, "k");
  store.next_swaps({Fault::lost_reply});
  store.before_next_swap([&] { store.set_down(true); });
  const Finished finished = run(a.finish(first, final_outcome("paid")));
  ASSERT_TRUE(std::holds_alternative<finish::Pending>(finished));
  store.set_down(false);
  lose_what_was_seen("k", *first.record);
  EXPECT_EQ(a.running().executions, 1u);  // nobody was told that it has ended
  time.run_for(seconds(5));
  EXPECT_EQ(state("k"), RecordState::completed);
  EXPECT_EQ(a.running().executions, 0u);
}

TEST_F(UnsureTest, AForgottenOutcomeThatComesBackIsForgottenAgain) {
  operation.on_retry = OnRetry::forget;
  start(a.sweep_forever());
  const EngineClaim first = claim(a, "k");
  store.next_swaps({Fault::lost_reply});
  Later<Finished> finished = start(a.finish(first, retry_outcome()));
  time.run_for(milliseconds(2));
  ASSERT_FALSE(record("k"));
  lose_what_was_seen("k", *first.record);
  EXPECT_FALSE(finished.done());
  time.run_for(milliseconds(500));
  EXPECT_EQ(std::get<finish::Recorded>(finished.value()).record, nullptr);
  // A second swap of nothing with nothing would prove nothing.
  time.run_for(minutes(2));
  EXPECT_FALSE(record("k"));
  EXPECT_EQ(claim(a, "k").record->attempt, 1u);
}

TEST_F(UnsureTest, AForgottenKeyIsNewAtOnceForAnyRequest) {
  operation.on_retry = OnRetry::forget;
  store.next_swaps({Fault::none, Fault::lost_reply});
  run(a.finish(claim(a, "k"), retry_outcome()));
  const Admission other = run(a.admit(call("k", "pay 99")));
  EXPECT_EQ(std::get<admission::Execute>(other).claim.record->attempt, 1u);
}

TEST_F(UnsureTest, AnAnswerMadeOfAnUnknownOutcomeIsNotGivenBeforeItIsDurable) {
  run(a.finish(claim(a, "k"), unknown_outcome()));
  const Record unknown = *record("k");
  operation.unknown = UnknownPolicy::fail;
  store.next_swaps({Fault::none, Fault::lost_reply});
  Later<Admission> admission = start(a.admit(call("k")));
  time.run_for(milliseconds(3));
  ASSERT_EQ(state("k"), RecordState::completed);
  lose_what_was_seen("k", unknown);
  EXPECT_FALSE(admission.done());
  time.run_for(seconds(1));
  EXPECT_EQ(*std::get<admission::Replay>(admission.value()).record, record("k"));
}

// A write that is still on its way to the store must come too late: nobody would run its claim.
TEST_F(UnsureTest, AClaimThatWasGivenUpCannotLandAnyMore) {
  store.next_swaps({Fault::lost_write});
  store.set_down(true);
  ASSERT_TRUE(std::holds_alternative<StoreUnavailable>(run(a.admit(call("k")))));
  store.set_down(false);
  time.run_for(seconds(5));
  ASSERT_TRUE(record("k"));
  EXPECT_EQ(state("k"), RecordState::released);
  Record late = *record("k");
  late.state = RecordState::in_progress;
  EXPECT_TRUE(std::holds_alternative<swap::Conflict>(store.model().swap(late.id, 0, late)));
}

TEST_F(UnsureTest, AClaimThatIsSeenInAHeldRecordIsConfirmedAndExecuted) {
  store.next_swaps({Fault::lost_reply, Fault::held});
  EXPECT_EQ(*claim(a, "k").record, record("k"));
}

TEST_F(UnsureTest, AClaimOfUnknownFateIsNotGivenUpToWhoeverHoldsTheRecord) {
  store.next_swaps({Fault::lost_write, Fault::held});
  EXPECT_EQ(*claim(a, "k").record, record("k"));
  EXPECT_EQ(a.running().executions, 1u);
}

TEST_F(UnsureTest, AnOutcomeThatIsSeenInAHeldRecordIsCountedOnceAsAChange) {
  const EngineClaim first = claim(a, "k");
  store.next_swaps({Fault::lost_reply, Fault::held});
  const Finished finished = run(a.finish(first, final_outcome("paid")));
  EXPECT_EQ(*std::get<finish::Recorded>(finished).record, record("k"));
  EXPECT_EQ(observer.transitions, 2);
}

TEST_F(UnsureTest, RoomIsAskedForOncePerRequest) {
  int asked = 0;
  Call request = call("k");
  request.may_execute = [&](bool) { return ++asked == 1; };  // it was the last place
  Later<Admission> admission = start(a.admit(std::move(request)));
  time.run_for(milliseconds(1));  // it has read that there is no record, and has its place
  ASSERT_EQ(asked, 1);
  // Somebody else was faster, and has given the key back.
  store.before_next_swap([&] {
    Record released;
    released.id = id_of("k");
    released.state = RecordState::released;
    released.attempt = 1;
    released.token = tokens.next();
    released.fingerprint = fingerprint_of("pay 10");
    released.expires_at = released.tombstone_until = kNever;
    store.model().swap(released.id, 0, released);
  });
  time.run_for(seconds(1));
  EXPECT_EQ(std::get<admission::Execute>(admission.value()).claim.record->attempt, 2u);
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace semel::engine
