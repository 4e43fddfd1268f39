// Those who wait for an execution of this process: woken by its end, with what it ended in, and
// none of them executes.
#include <gtest/gtest.h>

#include "support/engine_bench.h"

namespace semel::engine {
namespace {

using namespace support;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using SettledPtr = std::shared_ptr<const Settled>;

class WaitersTest : public ::testing::Test, public EngineBench {
 protected:
  WaitersTest() { start(a.keep()); }

  Later<Waited> wait(Engine& engine, const EngineClaim& claim, Duration timeout = minutes(1)) {
    return start(engine.wait(claim.record->id, claim.record->token, timeout));
  }

  Engine& a = add_engine("a");
};

TEST_F(WaitersTest, GetTheAnswerWhenItIsThere) {
  EngineClaim first = claim(a, "k");
  Later<Waited> waiter = wait(a, first);
  time.run_for(seconds(5));
  EXPECT_FALSE(waiter.done());
  run(a.finish(first, final_outcome("paid")));
  ASSERT_TRUE(waiter.done());  // by push: no time has passed
  const auto& settled = std::get<SettledPtr>(waiter.value());
  EXPECT_EQ(settled->outcome.answer.body, "paid");
  EXPECT_EQ(*settled->record, record("k"));
}

TEST_F(WaitersTest, GoWhenTheirTimeIsOver) {
  EngineClaim first = claim(a, "k");
  Later<Waited> waiter = wait(a, first, seconds(5));
  time.run_for(seconds(5) - milliseconds(50));
  EXPECT_FALSE(waiter.done());
  time.run_for(milliseconds(150));
  EXPECT_TRUE(std::holds_alternative<waited::TimedOut>(waiter.value()));
}

TEST_F(WaitersTest, AreNeitherSentAwayNorHeldByAClockThatIsSet) {
  EngineClaim first = claim(a, "k");
  Later<Waited> waiter = wait(a, first, seconds(5));
  clock.set_offset(std::chrono::hours(1));
  time.run_for(seconds(4));
  EXPECT_FALSE(waiter.done());
  clock.set_offset(-std::chrono::hours(1));
  time.run_for(seconds(2));
  EXPECT_TRUE(std::holds_alternative<waited::TimedOut>(waiter.value()));
}

TEST_F(WaitersTest, LookAgainWhereNothingRuns) {
  EngineClaim first = claim(a, "k");
  run(a.finish(first, final_outcome("paid")));
  Waited waited = run(a.wait(first.record->id, first.record->token, minutes(1)));
  EXPECT_TRUE(std::holds_alternative<waited::LookAgain>(waited));
}

TEST_F(WaitersTest, LookAgainWhenTheClaimIsGivenBack) {
  EngineClaim first = claim(a, "k");
  Later<Waited> waiter = wait(a, first);
  start(a.abandon(first));
  time.run_for(seconds(1));
  EXPECT_TRUE(std::holds_alternative<waited::LookAgain>(waiter.value()));
}

TEST_F(WaitersTest, LookAgainWhenTheExecutionTurnsOutStale) {
  operation.unknown = UnknownPolicy::retry;
  operation.max_execution = seconds(1);  // its lease is not renewed
  Engine& b = add_engine("b");
  EngineClaim zombie = claim(a, "k");
  Later<Waited> waiter = wait(a, zombie, minutes(10));
  time.run_for(minutes(1));
  EngineClaim winner = claim(b, "k");
  run(a.finish(zombie, final_outcome("zombie")));
  EXPECT_TRUE(std::holds_alternative<waited::LookAgain>(waiter.value()));
}

TEST_F(WaitersTest, AreNotWokenByAnotherExecutionOfTheirKey) {
  operation.on_retry = OnRetry::forget;
  EngineClaim first = claim(a, "k");
  run(a.finish(first, retry_outcome()));
  // Meanwhile the key is used for something else. Whoever waits for the first must not get that.
  auto other = std::get<admission::Execute>(run(a.admit(call("k", "pay 99")))).claim;
  Waited waited = run(a.wait(first.record->id, first.record->token, minutes(1)));
  EXPECT_TRUE(std::holds_alternative<waited::LookAgain>(waited));
  Later<Waited> right = wait(a, other);
  run(a.finish(other, final_outcome("paid 99")));
  EXPECT_EQ(std::get<SettledPtr>(right.value())->outcome.answer.body, "paid 99");
}

TEST_F(WaitersTest, GetTheUnknownOutcomeAndThoseAfterThemTheLateAnswer) {
  EngineClaim first = claim(a, "k");
  Later<Waited> early = wait(a, first);
  run(a.finish(first, unknown_outcome(), Engine::Listening::yes));
  EXPECT_EQ(std::get<SettledPtr>(early.value())->outcome.kind, OutcomeKind::unknown);
  Later<Waited> late = wait(a, first);
  EXPECT_FALSE(late.done());
  run(a.finish(first, final_outcome("late")));
  EXPECT_EQ(std::get<SettledPtr>(late.value())->outcome.answer.body, "late");
}

TEST_F(WaitersTest, AreAnsweredOnceTheOutcomeIsDurableAndNotBefore) {
  EngineClaim first = claim(a, "k");
  Later<Waited> waiter = wait(a, first);
  store.set_down(true);
  Finished pending = run(a.finish(first, final_outcome("paid")));
  EXPECT_TRUE(std::holds_alternative<finish::Pending>(pending));
  time.run_for(seconds(5));
  EXPECT_FALSE(waiter.done());
  store.set_down(false);
  time.run_for(seconds(5));
  EXPECT_EQ(std::get<SettledPtr>(waiter.value())->outcome.answer.body, "paid");
  EXPECT_EQ(state("k"), RecordState::completed);
}

// Trap 34.
TEST_F(WaitersTest, AThousandOnAFailedExecutionGetItsAnswerAndNoneExecutes) {
  EngineClaim first = claim(a, "k");
  std::vector<Later<Waited>> waiters;
  for (int i = 0; i < 1000; ++i) {
    Admission duplicate = run(a.admit(call("k")));
    const Record& busy = *std::get<admission::Busy>(duplicate).record;
    waiters.push_back(start(a.wait(busy.id, busy.token, minutes(1))));
  }
  run(a.finish(first, retry_outcome()));
  for (const auto& waiter : waiters) {
    EXPECT_EQ(std::get<SettledPtr>(waiter.value())->outcome.answer.status, 503);
  }
  EXPECT_EQ(record("k")->attempt, 1u);
  EXPECT_EQ(state("k"), RecordState::released);
}

TEST_F(WaitersTest, AreGoneWithTheEngine) {
  EngineClaim first = claim(a, "k");
  Later<Waited> waiter = wait(a, first);
  EXPECT_FALSE(waiter.done());  // and the bench takes everything down, without a leak or a crash
}

}  // namespace
}  // namespace semel::engine
