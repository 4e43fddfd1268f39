// A request with a key, from admission to replay, over a store that works.
#include "semel/driver/engine.h"

#include <gtest/gtest.h>

#include "support/engine_bench.h"

namespace semel::engine {
namespace {

using namespace support;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class EngineTest : public ::testing::Test, public EngineBench {
 protected:
  template <typename Kind>
  bool admitted(Engine& engine, const std::string& key, std::string_view payload = "pay 10") {
    return std::holds_alternative<Kind>(run(engine.admit(call(key, payload))));
  }

  Engine& a = add_engine("a");
};

TEST_F(EngineTest, ExecutesOnceAndReplaysForEver) {
  EngineClaim first = claim(a, "k");
  EXPECT_EQ(first.record->attempt, 1u);
  EXPECT_EQ(state("k"), RecordState::in_progress);  // durable before it is executed
  EXPECT_EQ(a.running().executions, 1u);

  Finished finished = run(a.finish(first, final_outcome("paid")));
  EXPECT_EQ(*std::get<finish::Recorded>(finished).record, record("k"));
  EXPECT_EQ(a.running().executions, 0u);

  for (int i = 0; i < 100; ++i) {
    Admission again = run(a.admit(call("k")));
    EXPECT_EQ(std::get<admission::Replay>(again).record->answer.body, "paid");
  }
  EXPECT_EQ(observer.transitions, 2);
}

TEST_F(EngineTest, TheRequestIsDescribedFromItsClaimOn) {
  Call asked = call("k");
  asked.description = {"POST", "/charges", {{"/amount", "10"}}};
  const Description wanted = asked.description;
  const Admission admission = run(a.admit(std::move(asked)));
  EXPECT_EQ(record("k")->description, wanted);
  run(a.finish(std::get<admission::Execute>(admission).claim, final_outcome("paid")));
  EXPECT_EQ(record("k")->description, wanted);
}

TEST_F(EngineTest, ANewKeyCostsTwoSwapsAndADuplicateOne) {
  EngineClaim first = claim(a, "k");
  run(a.finish(first, final_outcome("paid")));
  EXPECT_EQ(store.swaps(), 2);
  run(a.admit(call("k")));
  EXPECT_EQ(store.swaps(), 3);
}

// Only what admit() would replay, and without a word to the store.
TEST_F(EngineTest, WhatIsAtHandIsReplayedWithoutAClaim) {
  const Call retry = call("k");
  const auto recorded = [&](const Call& asked) {
    return a.recorded(id_of("k"), asked.recipe, asked.fingerprint, asked.operation);
  };
  EXPECT_EQ(recorded(retry), nullptr);
  EngineClaim first = claim(a, "k");
  EXPECT_EQ(recorded(retry), nullptr) << "it is being executed";
  run(a.finish(first, final_outcome("paid")));
  const int swaps = store.swaps();
  ASSERT_TRUE(recorded(retry));
  EXPECT_EQ(*recorded(retry), record("k"));
  EXPECT_EQ(store.swaps(), swaps);
  EXPECT_EQ(store.reads(), 0);

  EXPECT_EQ(recorded(call("k", "pay 20")), nullptr) << "another request";
  Call other_recipe = retry;
  other_recipe.recipe.headers = {"x-account"};
  EXPECT_EQ(recorded(other_recipe), nullptr) << "it cannot be compared";
  Call other_version = retry;
  other_version.operation.response_version = "2";
  EXPECT_EQ(recorded(other_version), nullptr);
  time.run_for(operation.ttl + seconds(1));
  EXPECT_EQ(recorded(retry), nullptr) << "it has expired";
}

TEST_F(EngineTest, ADuplicateInFlightIsBusy) {
  claim(a, "k");
  EXPECT_TRUE(admitted<admission::Busy>(a, "k"));
  Engine& b = add_engine("b");
  EXPECT_TRUE(admitted<admission::Busy>(b, "k"));
}

TEST_F(EngineTest, OfAHundredAtOnceOneExecutes) {
  std::vector<Later<Admission>> all;
  for (int i = 0; i < 100; ++i) all.push_back(start(a.admit(call("k"))));
  time.run_for(seconds(1));
  int executed = 0;
  for (const auto& one : all) {
    executed += std::holds_alternative<admission::Execute>(one.value()) ? 1 : 0;
  }
  EXPECT_EQ(executed, 1);
  EXPECT_EQ(a.running().executions, 1u);
}

TEST_F(EngineTest, AnotherPayloadUnderTheKeyIsAMismatch) {
  EngineClaim first = claim(a, "k");
  EXPECT_TRUE(admitted<admission::Mismatch>(a, "k", "pay 99"));
  run(a.finish(first, final_outcome("paid")));
  Admission mismatch = run(a.admit(call("k", "pay 99")));
  EXPECT_EQ(std::get<admission::Mismatch>(mismatch).differs, std::vector<std::string>{"body"});
}

TEST_F(EngineTest, ARetryIsComparedUnderTheRecordsOwnRecipe) {
  EngineClaim first = claim(a, "k");
  run(a.finish(first, final_outcome("paid")));

  Call retry = call("k");
  retry.recipe.exclude = {"/sent_at"};  // the configuration was edited
  retry.fingerprint = fingerprint_of("under the new recipe");
  int asked = 0;
  retry.fingerprint_under = [&](Recipe recipe) -> boost::asio::awaitable<Fingerprint> {
    ++asked;
    EXPECT_EQ(recipe, Recipe{});
    co_return fingerprint_of("pay 10");
  };
  Admission again = run(a.admit(retry));
  EXPECT_TRUE(std::holds_alternative<admission::Replay>(again));
  EXPECT_EQ(asked, 1);
}

TEST_F(EngineTest, ARetryIsComparedUnderTheRecordsOwnVersionOfTheRecipe) {
  Call first = call("k");
  first.recipe.version = 1;
  Admission admission = run(a.admit(first));
  run(a.finish(std::get<admission::Execute>(admission).claim, final_outcome("paid")));

  Call retry = call("k");
  retry.fingerprint = fingerprint_of("under the new version");
  EXPECT_FALSE(a.recorded(make_id(retry.scope, "k"), retry.recipe, retry.fingerprint, operation));
  retry.fingerprint_under = [&](Recipe recipe) -> boost::asio::awaitable<Fingerprint> {
    EXPECT_EQ(recipe.version, 1);
    co_return fingerprint_of("pay 10");
  };
  EXPECT_TRUE(std::holds_alternative<admission::Replay>(run(a.admit(retry))));
}

TEST_F(EngineTest, AReleasedKeyIsExecutedAgain) {
  EngineClaim first = claim(a, "k");
  run(a.finish(first, retry_outcome()));
  EngineClaim second = claim(a, "k");
  EXPECT_EQ(second.record->attempt, 2u);
  EXPECT_NE(second.record->token, first.record->token);
}

TEST_F(EngineTest, AForgottenKeyBeginsAnew) {
  operation.on_retry = OnRetry::forget;
  EngineClaim first = claim(a, "k");
  Finished finished = run(a.finish(first, retry_outcome()));
  EXPECT_EQ(std::get<finish::Recorded>(finished).record, nullptr);
  EXPECT_EQ(claim(a, "k").record->attempt, 1u);
}

TEST_F(EngineTest, AClaimIsGivenBack) {
  EngineClaim first = claim(a, "k");
  start(a.abandon(first));
  time.run_for(seconds(1));
  EXPECT_EQ(state("k"), RecordState::released);
  EXPECT_EQ(a.running().executions, 0u);
}

TEST_F(EngineTest, AnUnknownOutcomeIsHeldUntilAnOperatorDecides) {
  EngineClaim first = claim(a, "k");
  run(a.finish(first, unknown_outcome()));
  EXPECT_TRUE(admitted<admission::OutcomeUnknown>(a, "k"));

  Resolution release{.answer = {}, .who = "operator", .why = "nothing in the books"};
  EXPECT_TRUE(std::holds_alternative<resolve::Done>(run(a.resolve(id_of("k"), release))));
  EXPECT_EQ(claim(a, "k").record->attempt, 2u);
  EXPECT_TRUE(std::holds_alternative<resolve::NotFound>(run(a.resolve(id_of("no"), release))));
}

TEST_F(EngineTest, ALateAnswerIsRecordedWhileItIsListenedFor) {
  EngineClaim first = claim(a, "k");
  run(a.finish(first, unknown_outcome(), Engine::Listening::yes));
  EXPECT_EQ(state("k"), RecordState::unknown);
  EXPECT_EQ(a.running().executions, 1u);
  Resolution release{.answer = {}, .who = "operator", .why = "impatient"};
  EXPECT_TRUE(std::holds_alternative<resolve::Refused>(run(a.resolve(id_of("k"), release))));

  Finished late = run(a.finish(first, final_outcome("paid, late")));
  EXPECT_TRUE(std::holds_alternative<finish::Recorded>(late));
  EXPECT_EQ(record("k")->answer.body, "paid, late");
  EXPECT_EQ(a.running().executions, 0u);
}

TEST_F(EngineTest, NobodyListensForEver) {
  EngineClaim first = claim(a, "k");
  run(a.finish(first, unknown_outcome(), Engine::Listening::yes));
  a.stop_listening(first);
  EXPECT_EQ(a.running().executions, 0u);
  Resolution release{.answer = {}, .who = "operator", .why = "nothing in the books"};
  EXPECT_TRUE(std::holds_alternative<resolve::Done>(run(a.resolve(id_of("k"), release))));
}

TEST_F(EngineTest, AStaleFinisherIsGivenTheRecord) {
  operation.unknown = UnknownPolicy::retry;
  Engine& b = add_engine("b");
  EngineClaim zombie = claim(a, "k");
  time.run_for(minutes(1));
  EngineClaim winner = claim(b, "k");
  run(b.finish(winner, final_outcome("winner")));
  Finished finished = run(a.finish(zombie, final_outcome("zombie")));
  EXPECT_EQ(std::get<finish::Stale>(finished).record->answer.body, "winner");
  EXPECT_EQ(record("k")->answer.body, "winner");
}

TEST_F(EngineTest, AStaleFinisherIsNotGivenTheRecordOfAnotherRequest) {
  operation.ttl = seconds(1);
  operation.unknown = UnknownPolicy::retry;
  Engine& b = add_engine("b");
  EngineClaim zombie = claim(a, "k");
  time.run_for(minutes(1));
  EngineClaim winner = claim(b, "k");
  run(b.finish(winner, final_outcome("winner")));
  time.run_for(minutes(1));  // expired
  auto other = std::get<admission::Execute>(run(b.admit(call("k", "pay 99")))).claim;
  run(b.finish(other, final_outcome("paid 99")));
  Finished finished = run(a.finish(zombie, final_outcome("zombie")));
  EXPECT_EQ(std::get<finish::Stale>(finished).record, nullptr);
}

TEST_F(EngineTest, AnotherOutcomeThatWasRecordedFirstStands) {
  Engine& b = add_engine("b");
  EngineClaim slow = claim(a, "k");
  time.run_for(minutes(1));
  operation.unknown = UnknownPolicy::fail;
  EXPECT_TRUE(admitted<admission::Replay>(b, "k"));  // a 502, as a answers no more
  Finished finished = run(a.finish(slow, final_outcome("paid after all")));
  EXPECT_EQ(std::get<finish::Stale>(finished).record->answer.status, 502);
}

TEST_F(EngineTest, AStreamsStatusIsDurableBeforeItsFirstByte) {
  EngineClaim first = claim(a, "k");
  EXPECT_TRUE(run(a.begin_stream(first, 200)));
  EXPECT_EQ(record("k")->status_begun, 200);
  run(a.finish(first, final_outcome("whole")));
  EXPECT_FALSE(run(a.begin_stream(first, 200)));
}

// Trap 1, in the engine: what is taken over is what was read, or nothing.
TEST_F(EngineTest, ATakeoverCrossedByARenewalTakesNothing) {
  operation.unknown = UnknownPolicy::retry;
  Engine& b = add_engine("b");
  claim(a, "k");
  time.run_for(seconds(40));
  Record orphan = *record("k");
  bool crossed = false;
  // b has read the orphan, and on the way of its claim to the store its owner shows up.
  Later<Admission> taking = start(b.admit(call("k")));
  time.run_for(milliseconds(1));
  store.before_next_swap([&] {
    crossed = true;
    Record renewed = orphan;
    renewed.lease_until = clock.now() + seconds(30);
    store.model().swap(orphan.id, orphan.version, renewed);
  });
  time.run_for(seconds(1));
  ASSERT_TRUE(crossed);
  EXPECT_TRUE(std::holds_alternative<admission::Busy>(taking.value()));
}

// Trap 2, likewise.
TEST_F(EngineTest, ATakeoverCrossedByACompletionReplaysIt) {
  operation.unknown = UnknownPolicy::retry;
  Engine& b = add_engine("b");
  claim(a, "k");
  time.run_for(seconds(40));
  Record orphan = *record("k");
  Later<Admission> taking = start(b.admit(call("k")));
  time.run_for(milliseconds(1));
  store.before_next_swap([&] {
    Record done = orphan;
    done.state = RecordState::completed;
    done.answer.body = "in the nick of time";
    done.expires_at = kNever;
    store.model().swap(orphan.id, orphan.version, done);
  });
  time.run_for(seconds(1));
  EXPECT_EQ(std::get<admission::Replay>(taking.value()).record->answer.body, "in the nick of time");
}

}  // namespace
}  // namespace semel::engine
