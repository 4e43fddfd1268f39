// Whoever had a claim is gone: his coroutine was destroyed, or something was thrown. Nothing stays
// busy for that: what never ran is given back, of what may have run the outcome is unknown.
#include <gtest/gtest.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "engine/system.h"
#include "semel/inbox.h"
#include "stores/memory_store.h"
#include "support/engine_bench.h"

namespace semel {
namespace {

using namespace support;
using boost::asio::awaitable;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Fault = PlainStore::Fault;

class DroppedTest : public ::testing::Test, public EngineBench {
 protected:
  Claim take(const std::string& key) {
    return std::get<admission::Execute>(run(a.admit(ask(key)))).claim;
  }
  // Every coroutine is destroyed where it waits.
  void destroy_what_waits() {
    time.take(0);
    time.run_ready();
  }

  Engine& a = add_engine("a");
};

TEST_F(DroppedTest, AClaimThatNobodyEndsIsUnknownAtOnce) {
  Later<Waited> waiter = [&] {
    const Claim dropped = take("k");
    return start(a.wait(dropped.record->id, dropped.record->token, minutes(1)));
  }();
  time.run_for(milliseconds(10));
  EXPECT_EQ(state("k"), RecordState::unknown);
  EXPECT_EQ(record("k")->reason, "its claim was dropped");
  EXPECT_EQ(a.running().executions, 0u);
  ASSERT_TRUE(waiter.done());
  const auto& settled = std::get<std::shared_ptr<const Settled>>(waiter.value());
  EXPECT_EQ(settled->outcome.kind, OutcomeKind::unknown);
}

TEST_F(DroppedTest, TheLastCopyCounts) {
  std::optional<Claim> copy;
  copy = take("k");
  Claim other = *copy;
  copy.reset();
  time.run_for(seconds(1));
  EXPECT_EQ(state("k"), RecordState::in_progress);
  run(a.finish(std::move(other), final_outcome("paid")));
  time.run_for(seconds(1));
  EXPECT_EQ(state("k"), RecordState::completed);
}

TEST_F(DroppedTest, AKeyThatFailsWithoutAnAnswerGetsOne) {
  policy.unknown = UnknownPolicy::fail;
  take("k");
  time.run_for(milliseconds(10));
  const Admission again = run(a.admit(ask("k")));
  EXPECT_EQ(std::get<admission::Replay>(again).record->answer.status, 502);
}

TEST_F(DroppedTest, AnOutcomeThatWasBeingWrittenIsWrittenByTheEngine) {
  start([](Engine& engine, Claim claim) -> awaitable<void> {
    co_await engine.finish(std::move(claim), final_outcome("paid"));
  }(a, take("k")));
  destroy_what_waits();
  EXPECT_EQ(state("k"), RecordState::in_progress);
  time.run_for(seconds(1));
  EXPECT_EQ(record("k")->answer.body, "paid");
  EXPECT_EQ(a.running().executions, 0u);
}

TEST_F(DroppedTest, AnOutcomeOfWhichTheStoreSaysNothingIsWrittenByTheEngine) {
  store.next_swaps({Fault::none, Fault::thrown});
  Later<Finished> finished = start(a.finish(take("k"), final_outcome("paid")), "the store threw");
  time.run_for(seconds(1));
  EXPECT_FALSE(finished.done());
  EXPECT_EQ(record("k")->answer.body, "paid");
  EXPECT_EQ(a.running().executions, 0u);
}

TEST_F(DroppedTest, AClaimWhoseAskerIsGoneBeforeHeHasItIsGivenBack) {
  start(a.admit(ask("k")));
  destroy_what_waits();
  time.run_for(seconds(1));
  EXPECT_EQ(state("k"), RecordState::released);
  EXPECT_EQ(take("k").record->attempt, 2u);
}

TEST_F(DroppedTest, AClaimThatLandsAndThrowsIsGivenBack) {
  store.next_swaps({Fault::thrown});
  start(a.admit(ask("k")), "the store threw");
  time.run_for(milliseconds(1));
  EXPECT_EQ(state("k"), RecordState::in_progress);
  time.run_for(seconds(1));
  EXPECT_EQ(state("k"), RecordState::released);
}

TEST_F(DroppedTest, WhatIsThrownWhileAClaimIsGivenBackLeavesNothingBusy) {
  store.next_swaps({Fault::thrown, Fault::thrown});
  start(a.admit(ask("k")), "the store threw");
  time.run_for(policy.lease + minutes(1));
  EXPECT_TRUE(std::holds_alternative<admission::OutcomeUnknown>(run(a.admit(ask("k")))));
}

TEST_F(DroppedTest, WhatWasToBeQueuedForNobodyIsWithdrawn) {
  Ask request = ask("k");
  request.request = "POST /charges pay 10";
  start(a.admit(std::move(request)));
  destroy_what_waits();
  time.run_for(seconds(1));
  EXPECT_EQ(state("k"), RecordState::released);
}

TEST_F(DroppedTest, QueuedWorkWhoseStarterIsGoneIsQueuedAgain) {
  Ask request = ask("k");
  request.request = "POST /charges pay 10";
  const RecordPtr queued = std::get<admission::Queued>(run(a.admit(std::move(request)))).record;
  Later<Waited> waiter = start(a.wait(queued->id, queued->token, minutes(1)));
  start(a.start(queued, policy));
  destroy_what_waits();
  time.run_for(seconds(1));
  EXPECT_EQ(state("k"), RecordState::queued);
  EXPECT_TRUE(waiter.done());
  EXPECT_EQ(a.running().executions, 0u);
}

TEST_F(DroppedTest, WhoeverAbandonedAndIsGoneHasAbandoned) {
  start([](Engine& engine, Claim claim) -> awaitable<void> {
    co_await engine.abandon(std::move(claim));
  }(a, take("k")));
  destroy_what_waits();
  time.run_for(seconds(1));
  EXPECT_EQ(state("k"), RecordState::released);
}

TEST_F(DroppedTest, NobodyListensOnceTheListenerIsGone) {
  {
    const Claim claim = take("k");
    run(a.finish(claim, unknown_outcome(), Engine::Listening::yes));
    EXPECT_EQ(a.running().executions, 1u);
  }
  EXPECT_EQ(a.running().executions, 0u);
  EXPECT_EQ(state("k"), RecordState::unknown);
}

TEST_F(DroppedTest, AfterStopNothingIsWritten) {
  std::optional<Claim> dropped = take("k");
  a.stop();
  dropped.reset();
  time.run_for(seconds(1));
  EXPECT_EQ(state("k"), RecordState::in_progress);
  EXPECT_EQ(a.running().executions, 0u);
}

TEST_F(DroppedTest, AMessageWhoseHandlerIsDestroyedIsUnknown) {
  Inbox inbox(a, scope, policy);
  start(inbox.once("m", "body", [&](const Claim&) -> awaitable<Outcome> {
    co_await time.pause(1, minutes(1));
    co_return final_outcome("done");
  }));
  time.run_for(milliseconds(10));
  ASSERT_EQ(state("m"), RecordState::in_progress);
  time.take(1);
  time.run_for(milliseconds(10));
  EXPECT_EQ(state("m"), RecordState::unknown);
}

TEST_F(DroppedTest, AMessageWhoseHandlerThrowsAnythingIsUnknown) {
  Inbox inbox(a, scope, policy);
  const InboxResult result =
      run(inbox.once("m", "body", [](const Claim&) -> awaitable<Outcome> { throw 42; }));
  EXPECT_TRUE(std::holds_alternative<inbox::Unknown>(result));
  EXPECT_EQ(state("m"), RecordState::unknown);
}

class QuietObserver final : public Observer {
  void transitioned(const Record*, const Record*, Time) override {}
  void lease_lost(const RecordId&) override {}
  void store_failed(std::string_view, std::string_view) override {}
};

// A program whose event loop is gone while it executes: the engine has a thread of its own.
TEST(DroppedForReal, WithTheLoopOfItsCallerAClaimBecomesUnknown) {
  MemoryStore store;
  SystemClock clock;
  SystemTokens tokens;
  QuietObserver observer;
  Engine engine(store, clock, tokens, observer, {.owner = {"a", 1}});
  Ask request;
  request.scope = {"test", "tenant", "operation"};
  request.key = "k";
  {
    boost::asio::io_context io{1};
    bool claimed = false;
    boost::asio::co_spawn(
        io,
        [&]() -> awaitable<void> {
          const Admission admission = co_await engine.admit(request);
          claimed = std::holds_alternative<admission::Execute>(admission);
          boost::asio::steady_timer never(io, boost::asio::steady_timer::time_point::max());
          co_await never.async_wait(boost::asio::use_awaitable);
        },
        [](const std::exception_ptr&) {});
    while (!claimed) ASSERT_EQ(io.run_one(), 1u);
    EXPECT_EQ(engine.running().executions, 1u);
  }
  // Woken when it is settled, or told that it is so already.
  boost::asio::io_context io{1};
  std::optional<RecordState> found;
  boost::asio::co_spawn(
      io,
      [&]() -> awaitable<void> {
        const RecordId id = make_id(request.scope, request.key);
        while (!found || *found == RecordState::in_progress) {
          const auto read = co_await store.read(id);
          found = read.value()->state;
          co_await clock.sleep(milliseconds(1));
        }
      },
      [](const std::exception_ptr&) {});
  io.run_for(seconds(10));
  EXPECT_EQ(found, RecordState::unknown);
  EXPECT_EQ(engine.running().executions, 0u);
}

}  // namespace
}  // namespace semel
