// The holder of a claim is gone: its coroutine was destroyed, or an exception was thrown. The key
// does not stay busy: a claim that never ran is given back; if it may have run, it is unknown.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "engine/system_clock.h"
#include "semel/driver/inbox.h"
#include "stores/forwarding_store.h"
#include "stores/memory_store.h"
#include "support/engine_bench.h"

namespace semel::engine {
namespace {

using namespace support;
using boost::asio::awaitable;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Fault = PlainStore::Fault;

class DroppedTest : public ::testing::Test, public EngineBench {
 protected:
  EngineClaim take(const std::string& key) {
    return std::get<admission::Execute>(run(a.admit(call(key)))).claim;
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
    const EngineClaim dropped = take("k");
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
  std::optional<EngineClaim> copy;
  copy = take("k");
  EngineClaim other = *copy;
  copy.reset();
  time.run_for(seconds(1));
  EXPECT_EQ(state("k"), RecordState::in_progress);
  run(a.finish(std::move(other), final_outcome("paid")));
  time.run_for(seconds(1));
  EXPECT_EQ(state("k"), RecordState::completed);
}

TEST_F(DroppedTest, AKeyThatFailsWithoutAnAnswerGetsOne) {
  operation.unknown = UnknownPolicy::fail;
  take("k");
  time.run_for(milliseconds(10));
  const Admission again = run(a.admit(call("k")));
  EXPECT_EQ(std::get<admission::Replay>(again).record->answer.status, 502);
}

TEST_F(DroppedTest, AnOutcomeThatWasBeingWrittenIsWrittenByTheEngine) {
  start([](Engine& engine, EngineClaim claim) -> awaitable<void> {
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
  start(a.admit(call("k")));
  destroy_what_waits();
  time.run_for(seconds(1));
  EXPECT_EQ(state("k"), RecordState::released);
  EXPECT_EQ(take("k").record->attempt, 2u);
}

TEST_F(DroppedTest, AClaimThatLandsAndThrowsIsGivenBack) {
  store.next_swaps({Fault::thrown});
  start(a.admit(call("k")), "the store threw");
  time.run_for(milliseconds(1));
  EXPECT_EQ(state("k"), RecordState::in_progress);
  time.run_for(seconds(1));
  EXPECT_EQ(state("k"), RecordState::released);
}

TEST_F(DroppedTest, WhatIsThrownWhileAClaimIsGivenBackLeavesNothingBusy) {
  store.next_swaps({Fault::thrown, Fault::thrown});
  start(a.admit(call("k")), "the store threw");
  time.run_for(operation.lease + minutes(1));
  EXPECT_TRUE(std::holds_alternative<admission::OutcomeUnknown>(run(a.admit(call("k")))));
}

TEST_F(DroppedTest, WhatWasToBeQueuedForNobodyIsWithdrawn) {
  Call request = call("k");
  request.request = "POST /charges pay 10";
  start(a.admit(std::move(request)));
  destroy_what_waits();
  time.run_for(seconds(1));
  EXPECT_EQ(state("k"), RecordState::released);
}

TEST_F(DroppedTest, QueuedWorkWhoseStarterIsGoneIsQueuedAgain) {
  Call request = call("k");
  request.request = "POST /charges pay 10";
  const RecordPtr queued = std::get<admission::Queued>(run(a.admit(std::move(request)))).record;
  Later<Waited> waiter = start(a.wait(queued->id, queued->token, minutes(1)));
  start(a.start(queued, operation));
  destroy_what_waits();
  time.run_for(seconds(1));
  EXPECT_EQ(state("k"), RecordState::queued);
  EXPECT_TRUE(waiter.done());
  EXPECT_EQ(a.running().executions, 0u);
}

TEST_F(DroppedTest, WhoeverAbandonedAndIsGoneHasAbandoned) {
  start([](Engine& engine, EngineClaim claim) -> awaitable<void> {
    co_await engine.abandon(std::move(claim));
  }(a, take("k")));
  destroy_what_waits();
  time.run_for(seconds(1));
  EXPECT_EQ(state("k"), RecordState::released);
}

TEST_F(DroppedTest, NobodyListensOnceTheListenerIsGone) {
  {
    const EngineClaim claim = take("k");
    run(a.finish(claim, unknown_outcome(), Engine::Listening::yes));
    EXPECT_EQ(a.running().executions, 1u);
  }
  EXPECT_EQ(a.running().executions, 0u);
  EXPECT_EQ(state("k"), RecordState::unknown);
}

TEST_F(DroppedTest, AfterStopNothingIsWritten) {
  std::optional<EngineClaim> dropped = take("k");
  a.stop();
  dropped.reset();
  time.run_for(seconds(1));
  EXPECT_EQ(state("k"), RecordState::in_progress);
  EXPECT_EQ(a.running().executions, 0u);
}

TEST_F(DroppedTest, AMessageWhoseHandlerIsDestroyedIsUnknown) {
  Inbox inbox(a, scope, operation);
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
  Inbox inbox(a, scope, operation);
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
  stores::MemoryStore store;
  SystemClock clock;
  SystemTokens tokens;
  QuietObserver observer;
  Engine engine(store, clock, tokens, observer, {.owner = {"a", 1}});
  Call request;
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

class InterruptedStore final : public stores::ForwardingStore {
 public:
  InterruptedStore() : ForwardingStore(std::make_unique<stores::MemoryStore>()) {}
  awaitable<SwapResult> swap(RecordId id, Version expected, std::shared_ptr<Record> next) override {
    if (is_away) co_return StoreUnavailable{"it is away"};
    co_return co_await inner().swap(id, expected, std::move(next));
  }
  std::atomic<bool> is_away = false;
};

// The engine goes on recording an outcome after its caller was told that it is pending, on an
// executor of its own: the caller's may be gone by then.
TEST(DroppedForReal, WithTheLoopOfItsCallerAPendingOutcomeIsNotLost) {
  InterruptedStore store;
  SystemClock clock;
  SystemTokens tokens;
  QuietObserver observer;
  Engine engine(store, clock, tokens, observer, {.owner = {"a", 1}, .patience = milliseconds(50)});
  Call request;
  request.scope = {"test", "tenant", "operation"};
  request.key = "k";
  {
    boost::asio::io_context io{1};
    bool is_pending = false;
    boost::asio::co_spawn(
        io,
        [&]() -> awaitable<void> {
          const Admission admission = co_await engine.admit(request);
          store.is_away = true;
          const Finished finished =
              co_await engine.finish(std::get<admission::Execute>(admission).claim,
                                     {.kind = OutcomeKind::final, .answer = {201, {}, "made"}});
          is_pending = std::holds_alternative<finish::Pending>(finished);
        },
        [](const std::exception_ptr&) {});
    io.run_for(seconds(10));
    ASSERT_TRUE(is_pending);
  }
  store.is_away = false;
  boost::asio::io_context io{1};
  RecordPtr found;
  boost::asio::co_spawn(
      io,
      [&]() -> awaitable<void> {
        const RecordId id = make_id(request.scope, request.key);
        while (!found || found->state == RecordState::in_progress) {
          const auto read = co_await store.read(id);
          found = read.value();
          co_await clock.sleep(milliseconds(1));
        }
      },
      [](const std::exception_ptr&) {});
  io.run_for(seconds(10));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->state, RecordState::completed);
  EXPECT_EQ(found->answer.body, "made");
}

}  // namespace
}  // namespace semel::engine
