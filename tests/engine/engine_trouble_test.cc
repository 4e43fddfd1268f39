// A store that is down, slow, or does not say what it did. Nothing is executed unless its claim is
// durable, nothing is answered as done unless its outcome is.
#include <gtest/gtest.h>

#include "support/engine_bench.h"

namespace semel::engine {
namespace {

using namespace support;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Fault = PlainStore::Fault;

class TroubleTest : public ::testing::Test, public EngineBench {
 protected:
  Engine& a = add_engine("a");
};

TEST_F(TroubleTest, AStoreThatIsDownAdmitsNothing) {
  store.set_down(true);
  Admission admission = run(a.admit(call("k")));
  EXPECT_TRUE(std::holds_alternative<StoreUnavailable>(admission));
  EXPECT_EQ(a.running().executions, 0u);
  store.set_down(false);
  EXPECT_EQ(claim(a, "k").record->attempt, 1u);
}

TEST_F(TroubleTest, AClaimWhoseReplyWasLostIsConfirmedByWritingAgain) {
  store.next_swaps({Fault::lost_reply});
  EngineClaim first = claim(a, "k");
  EXPECT_EQ(*first.record, record("k"));
  EXPECT_EQ(store.swaps(), 3);  // written, found to be ours, swapped with itself
}

TEST_F(TroubleTest, AClaimThatWasLostIsWrittenAgain) {
  store.next_swaps({Fault::lost_write, Fault::unavailable, Fault::none});
  EXPECT_EQ(*claim(a, "k").record, record("k"));
}

// Trap 22: both read back "in_progress, attempt 1"; only one of them wrote it.
TEST_F(TroubleTest, OfTwoNodesThatLoseTheirRepliesOneExecutes) {
  Engine& b = add_engine("b");
  store.next_swaps({Fault::lost_reply, Fault::lost_write});
  Later<Admission> by_a = start(a.admit(call("k")));
  Later<Admission> by_b = start(b.admit(call("k")));
  time.run_for(seconds(5));
  EXPECT_TRUE(std::holds_alternative<admission::Execute>(by_a.value()));
  EXPECT_TRUE(std::holds_alternative<admission::Busy>(by_b.value()));
}

TEST_F(TroubleTest, AClaimWhoseFateStaysUnknownIsGivenBack) {
  store.next_swaps({Fault::lost_reply});
  store.before_next_swap([&] { store.set_down(true); });
  Admission admission = run(a.admit(call("k")));
  EXPECT_TRUE(std::holds_alternative<StoreUnavailable>(admission));
  EXPECT_EQ(state("k"), RecordState::in_progress);  // it had landed, and nobody will execute it
  Later<Admission> meanwhile = start(a.admit(call("k")));
  store.set_down(false);
  time.run_for(seconds(5));
  EXPECT_TRUE(std::holds_alternative<StoreUnavailable>(meanwhile.value()) ||
              std::holds_alternative<admission::Busy>(meanwhile.value()));
  EXPECT_EQ(state("k"), RecordState::released);
  EXPECT_EQ(claim(a, "k").record->attempt, 2u);
}

TEST_F(TroubleTest, AClaimThatWasSweptUpBeforeItWasConfirmedIsGivenBack) {
  store.next_swaps({Fault::lost_reply});
  Later<Admission> admission = start(a.admit(call("k")));
  time.run_for(milliseconds(2));
  Record swept = *record("k");
  swept.state = RecordState::unknown;  // by a node whose clock is ahead
  store.model().swap(swept.id, swept.version, swept);
  time.run_for(seconds(5));
  EXPECT_TRUE(std::holds_alternative<StoreUnavailable>(admission.value()));
  EXPECT_EQ(state("k"), RecordState::released);
}

TEST_F(TroubleTest, AClaimThatOutlastsItsLeaseOnTheWayIsNotExecuted) {
  operation.lease = seconds(1);
  store.before_next_swap([&] { clock.set_offset(seconds(2)); });  // or two seconds in a pause
  Admission admission = run(a.admit(call("k")));
  EXPECT_TRUE(std::holds_alternative<StoreUnavailable>(admission));
  time.run_for(seconds(1));
  EXPECT_EQ(state("k"), RecordState::released);
  EXPECT_EQ(a.running().executions, 0u);
}

TEST_F(TroubleTest, AnOutcomeIsPendingWhileTheStoreIsDownAndLandsLater) {
  EngineClaim first = claim(a, "k");
  store.set_down(true);
  const Time asked = time.now();
  Finished finished = run(a.finish(first, final_outcome("paid")));
  EXPECT_TRUE(std::holds_alternative<finish::Pending>(finished));
  EXPECT_GE(time.now() - asked, seconds(2));  // it was patient,
  EXPECT_LE(time.now() - asked, seconds(4));  // but not for ever
  EXPECT_EQ(a.running().executions, 1u);      // and has not given up
  store.set_down(false);
  time.run_for(seconds(2));
  EXPECT_EQ(record("k")->answer.body, "paid");
  EXPECT_EQ(a.running().executions, 0u);
}

TEST_F(TroubleTest, AnOutcomeWhoseReplyWasLostIsRecordedOnce) {
  EngineClaim first = claim(a, "k");
  store.next_swaps({Fault::lost_reply});
  Finished finished = run(a.finish(first, final_outcome("paid")));
  EXPECT_EQ(*std::get<finish::Recorded>(finished).record, record("k"));
  EXPECT_EQ(observer.transitions, 2);
}

TEST_F(TroubleTest, AForgottenOutcomeWhoseReplyWasLostIsRecorded) {
  operation.on_retry = OnRetry::forget;
  EngineClaim first = claim(a, "k");
  Later<Waited> waiter = start(a.wait(first.record->id, first.record->token, minutes(1)));
  store.next_swaps({Fault::lost_reply});
  Finished finished = run(a.finish(first, retry_outcome()));
  EXPECT_EQ(std::get<finish::Recorded>(finished).record, nullptr);
  // Were it taken for stale, the waiters would look again and execute in turn.
  EXPECT_TRUE(std::holds_alternative<std::shared_ptr<const Settled>>(waiter.value()));
}

TEST_F(TroubleTest, AnOutcomeThatTurnsOutStaleInTheBackgroundIsNobodysAnswer) {
  operation.unknown = UnknownPolicy::retry;
  Engine& b = add_engine("b");
  EngineClaim zombie = claim(a, "k");
  Later<Waited> waiter = start(a.wait(zombie.record->id, zombie.record->token, minutes(10)));
  store.set_down(true);
  run(a.finish(zombie, final_outcome("zombie")));
  Record orphan = *record("k");
  orphan.lease_until = clock.now() - minutes(1);
  store.model().swap(orphan.id, orphan.version, orphan);
  Later<Admission> winner = start(b.admit(call("k")));
  store.next_swaps({Fault::none, Fault::none});
  time.run_for(milliseconds(2));
  store.set_down(false);
  time.run_for(seconds(5));
  ASSERT_TRUE(std::holds_alternative<admission::Execute>(winner.value()));
  EXPECT_TRUE(std::holds_alternative<waited::LookAgain>(waiter.value()));
  EXPECT_EQ(state("k"), RecordState::in_progress);
}

TEST_F(TroubleTest, AnAnswerThatIsTooLargeIsRecordedWithoutItsBody) {
  store.set_body_bytes_max(100);
  EngineClaim first = claim(a, "k");
  Finished finished = run(a.finish(first, final_outcome(std::string(101, 'x'))));
  ASSERT_TRUE(std::holds_alternative<finish::Recorded>(finished));
  Admission again = run(a.admit(call("k")));
  const Answer& replayed = std::get<admission::Replay>(again).record->answer;
  EXPECT_EQ(replayed.status, 200);
  EXPECT_EQ(replayed.body, "");
  EXPECT_EQ(replayed.body_note, BodyNote::omitted);
}

TEST_F(TroubleTest, AResolutionWhoseReplyWasLostIsDone) {
  EngineClaim first = claim(a, "k");
  run(a.finish(first, unknown_outcome()));
  store.next_swaps({Fault::lost_reply});
  Resolution release{.answer = {}, .who = "operator", .why = "nothing in the books"};
  EXPECT_TRUE(std::holds_alternative<resolve::Done>(run(a.resolve(id_of("k"), release))));
  EXPECT_EQ(state("k"), RecordState::released);
}

// Two operators release at once; between their writes a client claims the key. The second release
// must not take it from under the client.
TEST_F(TroubleTest, AResolutionDoesNotTouchTheClaimThatCrossedIt) {
  store.set_exclusive(true);
  Engine& restarted = add_engine("a");  // knows: what does not run here does not run
  EngineClaim first = claim(restarted, "k");
  run(restarted.finish(first, unknown_outcome()));
  Resolution release{.answer = {}, .who = "operator", .why = "nothing in the books"};
  Later<Resolved> second = start(restarted.resolve(id_of("k"), release));
  time.run_for(milliseconds(1));  // it has read the record
  store.before_next_swap([&] {
    Record live = *record("k");
    live.state = RecordState::in_progress;
    live.attempt = 2;
    live.token = tokens.next();
    live.lease_until = clock.now() + seconds(30);
    store.model().swap(live.id, live.version, live);
  });
  time.run_for(seconds(1));
  EXPECT_TRUE(std::holds_alternative<resolve::Refused>(second.value()));
  EXPECT_EQ(state("k"), RecordState::in_progress);
}

TEST_F(TroubleTest, AbandoningDoesNotWaitForAStoreThatIsDown) {
  EngineClaim first = claim(a, "k");
  store.set_down(true);
  start(a.abandon(first));
  time.run_for(seconds(10));
  store.set_down(false);
  time.run_for(seconds(5));
  EXPECT_EQ(state("k"), RecordState::released);
  EXPECT_EQ(a.running().executions, 0u);
}

}  // namespace
}  // namespace semel::engine
