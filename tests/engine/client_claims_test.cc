// Claims that a client of the service API holds: their token is the client's choice, their lease
// alone says whether they live, and whatever is said twice counts once.
#include <gtest/gtest.h>

#include "support/engine_bench.h"

namespace semel::engine {
namespace {

using namespace support;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Fault = PlainStore::Fault;

Token token_of(std::uint8_t number) {
  Token token;
  token.bytes.fill(number);
  return token;
}

class ClientClaimsTest : public ::testing::Test, public EngineBench {
 protected:
  Call call_of(std::string key, std::uint8_t token, std::string client = "worker",
               std::string_view payload = "pay 10") {
    Call wanted = call(std::move(key), payload);
    wanted.client = ClientClaim{std::move(client), token_of(token)};
    return wanted;
  }
  Admission admit(Engine& engine, std::uint8_t token, std::string client = "worker") {
    return run(engine.admit(call_of("k", token, std::move(client))));
  }
  RecordPtr granted(Engine& engine, std::uint8_t token) {
    return std::get<admission::Execute>(admit(engine, token)).claim.record;
  }

  Engine& a = add_engine("a");
};

TEST_F(ClientClaimsTest, ARepeatedClaimIsTheSameClaim) {
  const RecordPtr first = granted(a, 1);
  time.run_for(seconds(5));
  const RecordPtr second = granted(a, 1);
  EXPECT_EQ(second->attempt, 1u);
  EXPECT_EQ(second->lease_until, first->lease_until);
  EXPECT_EQ(second->created_at, first->created_at);
  EXPECT_EQ(a.running().executions, 0u);  // it does not run here
}

TEST_F(ClientClaimsTest, OnlyItsClientAndItsPayloadRepeatIt) {
  granted(a, 1);
  EXPECT_TRUE(std::holds_alternative<admission::Busy>(admit(a, 1, "other")));
  EXPECT_TRUE(std::holds_alternative<admission::Busy>(admit(a, 2)));
  const Admission other = run(a.admit(call_of("k", 1, "worker", "pay 99")));
  EXPECT_TRUE(std::holds_alternative<admission::Mismatch>(other));
}

TEST_F(ClientClaimsTest, ARepetitionIsNoNewKey) {
  int asked = 0;
  for (int i = 0; i < 3; ++i) {
    Call wanted = call_of("k", 1);
    wanted.may_execute = [&](bool) { return ++asked == 1; };
    EXPECT_TRUE(std::holds_alternative<admission::Execute>(run(a.admit(std::move(wanted)))));
  }
  EXPECT_EQ(asked, 1);
}

TEST_F(ClientClaimsTest, ATokenHasOneLife) {
  run(a.report(granted(a, 1), retry_outcome()));
  EXPECT_TRUE(std::holds_alternative<admission::TokenUsed>(admit(a, 1)));
  EXPECT_EQ(granted(a, 2)->attempt, 2u);
}

TEST_F(ClientClaimsTest, ReportingTwiceIsReportingOnce) {
  for (const Outcome& outcome : {final_outcome("done"), retry_outcome(), unknown_outcome()}) {
    const std::string key = std::string(to_string(outcome.kind));
    const Admission admission = run(a.admit(call_of(key, 1)));
    const RecordPtr held = std::get<admission::Execute>(admission).claim.record;
    const Reported first = run(a.report(held, outcome));
    time.run_for(seconds(1));
    const Reported second = run(a.report(held, outcome));
    const RecordPtr before = std::get<client_claim::Recorded>(first).record;
    const RecordPtr after = std::get<client_claim::Recorded>(second).record;
    EXPECT_EQ(before->state, after->state);
    EXPECT_EQ(before->updated_at, after->updated_at);
    EXPECT_EQ(after->attempt, 1u);
  }
}

TEST_F(ClientClaimsTest, AnotherOutcomeAfterTheEndIsStale) {
  const RecordPtr held = granted(a, 1);
  run(a.report(held, final_outcome("done")));
  EXPECT_TRUE(std::holds_alternative<client_claim::Stale>(run(a.report(held, retry_outcome()))));
  EXPECT_TRUE(
      std::holds_alternative<client_claim::Stale>(run(a.report(held, final_outcome("else")))));
  EXPECT_TRUE(std::holds_alternative<client_claim::Stale>(run(a.renew(held, seconds(9)))));
  EXPECT_EQ(record("k")->answer.body, "done");
}

TEST_F(ClientClaimsTest, AnAnswerThatTheStoreDoesNotTakeIsRefused) {
  const RecordPtr held = granted(a, 1);
  store.set_body_bytes_max(3);
  EXPECT_TRUE(
      std::holds_alternative<client_claim::TooLarge>(run(a.report(held, final_outcome("large")))));
  EXPECT_EQ(state("k"), RecordState::in_progress);
}

TEST_F(ClientClaimsTest, ARestartDoesNotEndAClaimBeforeItsLease) {
  store.set_exclusive(true);
  Engine& b = add_engine("b");
  granted(b, 1);
  claim(b, "other");
  Engine& c = add_engine("b");  // after a restart
  run([](Engine& engine) -> boost::asio::awaitable<bool> {
    co_await engine.recover();
    co_return true;
  }(c));
  EXPECT_EQ(state("k"), RecordState::in_progress);
  EXPECT_EQ(state("other"), RecordState::unknown);  // that ran in the process that is gone
  EXPECT_TRUE(std::holds_alternative<admission::Busy>(admit(c, 2)));
  EXPECT_EQ(granted(c, 1)->attempt, 1u);
  time.run_for(seconds(32));
  run(c.sweep_once());
  EXPECT_EQ(state("k"), RecordState::unknown);
}

TEST_F(ClientClaimsTest, AClaimOfUnknownFateIsNotGivenBack) {
  store.next_swaps({Fault::lost_reply});
  store.before_next_swap([&] { store.set_down(true); });
  EXPECT_TRUE(std::holds_alternative<StoreUnavailable>(admit(a, 1)));
  store.set_down(false);
  // The client asks again: the claim is its own, and nothing takes it away behind its back.
  EXPECT_EQ(granted(a, 1)->attempt, 1u);
  time.run_for(seconds(10));
  EXPECT_EQ(state("k"), RecordState::in_progress);
  EXPECT_EQ(record("k")->token, token_of(1));
}

TEST_F(ClientClaimsTest, ALostReplyOfTheStoreDoesNotCountTwice) {
  store.next_swaps({Fault::lost_reply});
  EXPECT_EQ(granted(a, 1)->attempt, 1u);
  store.next_swaps({Fault::lost_reply});
  EXPECT_EQ(granted(a, 1)->attempt, 1u);
  EXPECT_EQ(record("k")->history.size(), 1u);
}

TEST_F(ClientClaimsTest, ALateOutcomeIsRecordedUnlessSomebodyElseHasTheClaim) {
  const RecordPtr held = granted(a, 1);
  time.run_for(seconds(40));
  EXPECT_TRUE(std::holds_alternative<admission::OutcomeUnknown>(admit(a, 2)));
  EXPECT_TRUE(
      std::holds_alternative<client_claim::Recorded>(run(a.report(held, final_outcome("late")))));
}

TEST_F(ClientClaimsTest, WithRetryTheNextClaimTakesOver) {
  operation.unknown = UnknownPolicy::retry;
  const RecordPtr held = granted(a, 1);
  time.run_for(seconds(40));
  EXPECT_TRUE(std::holds_alternative<admission::TokenUsed>(admit(a, 1)));
  EXPECT_EQ(granted(a, 2)->attempt, 2u);
  EXPECT_TRUE(
      std::holds_alternative<client_claim::Stale>(run(a.report(held, final_outcome("late")))));
}

TEST_F(ClientClaimsTest, AWatchIsWokenByTheEnd) {
  const RecordPtr held = granted(a, 1);
  Later<bool> watched = start(a.watch(id_of("k"), token_of(1), seconds(60)));
  time.run_for(milliseconds(10));
  run(a.renew(held, seconds(50)));
  time.run_for(milliseconds(10));
  EXPECT_FALSE(watched.done());  // a renewal is no end
  run(a.report(held, final_outcome("done")));
  time.run_for(milliseconds(1));
  ASSERT_TRUE(watched.done());
  EXPECT_TRUE(watched.value());
  EXPECT_FALSE(run(a.watch(id_of("k"), token_of(1), seconds(60))));  // nothing to watch
}

TEST_F(ClientClaimsTest, AWatchEndsWithItsTime) {
  granted(a, 1);
  start(a.keep());
  Later<bool> watched = start(a.watch(id_of("k"), token_of(1), seconds(2)));
  time.run_for(milliseconds(1900));
  EXPECT_FALSE(watched.done());
  time.run_for(milliseconds(300));
  EXPECT_TRUE(watched.done());
}

}  // namespace
}  // namespace semel::engine
