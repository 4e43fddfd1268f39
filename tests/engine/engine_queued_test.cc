// Work that is accepted now and executed later: handed out once, started once, never lost.
#include <gtest/gtest.h>

#include "support/engine_bench.h"

namespace semel::engine {
namespace {

using namespace support;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Fault = PlainStore::Fault;

class QueuedTest : public ::testing::Test, public EngineBench {
 protected:
  struct Process {
    Engine& engine;
    std::vector<QueuedWork> handed;
  };
  Process& process(std::string name) {
    auto& added = processes_.emplace_back(
        std::make_unique<Process>(Process{add_engine(std::move(name)), {}}));
    added->engine.hand_queued_to(
        [process = added.get()](QueuedWork work) { process->handed.push_back(work); });
    return *added;
  }

  Call queued_call(std::string key, std::string_view payload = "pay 10") const {
    Call asked = call(std::move(key), payload);
    asked.wants_handle = true;
    asked.request = "POST /charges " + std::string(payload);
    return asked;
  }
  Record queue(Engine& engine, const std::string& key) {
    return *std::get<admission::Queued>(run(engine.admit(queued_call(key)))).record;
  }
  Started begin(Engine& engine, const std::string& key) {
    Started started =
        run(engine.start(std::make_shared<const Record>(record(key).value()), operation));
    if (const auto* claim = std::get_if<EngineClaim>(&started)) hold(*claim);
    return started;
  }

  std::vector<std::unique_ptr<Process>> processes_;
};

TEST_F(QueuedTest, IsDurableBeforeAnybodyIsTold) {
  Process& a = process("a");
  Record queued = queue(a.engine, "k");
  EXPECT_EQ(record("k"), queued);
  EXPECT_EQ(queued.state, RecordState::queued);
  EXPECT_EQ(queued.request, "POST /charges pay 10");
  EXPECT_NE(queued.handle, Token{});
  EXPECT_NE(queued.handle, queued.token);
  EXPECT_EQ(store.swaps(), 1);
  EXPECT_EQ(a.engine.running().executions, 0);  // a drain does not wait for it
}

TEST_F(QueuedTest, StartsUnderAClaimLikeAnyOther) {
  Process& a = process("a");
  queue(a.engine, "k");
  EngineClaim claim = std::get<EngineClaim>(begin(a.engine, "k"));
  EXPECT_EQ(claim.record->attempt, 1);
  EXPECT_EQ(claim.record->request, "POST /charges pay 10");
  EXPECT_EQ(a.engine.running().executions, 1);
  run(a.engine.finish(claim, final_outcome("paid")));
  EXPECT_EQ(state("k"), RecordState::completed);
  EXPECT_EQ(record("k")->request, "");
  EXPECT_EQ(a.engine.running().executions, 0);
}

TEST_F(QueuedTest, IsStartedByOneOfTwo) {
  Process& a = process("a");
  Process& b = process("b");
  const Record queued = queue(a.engine, "k");
  Later<Started> first = start(a.engine.start(std::make_shared<const Record>(queued), operation));
  Later<Started> second = start(b.engine.start(std::make_shared<const Record>(queued), operation));
  time.run_for(seconds(1));
  EXPECT_TRUE(std::holds_alternative<EngineClaim>(first.value()));
  EXPECT_TRUE(std::holds_alternative<start::Gone>(second.value()));
  EXPECT_EQ(record("k")->attempt, 1);
}

TEST_F(QueuedTest, IsNotHandedOutWhereItIsHeld) {
  Process& a = process("a");
  start(a.engine.sweep_forever());
  queue(a.engine, "k");
  time.run_for(minutes(5));
  EXPECT_TRUE(a.handed.empty());
  EXPECT_EQ(state("k"), RecordState::queued);
}

// DESIGN 6.31: 202 was sent, the process died, and nobody will retry.
TEST_F(QueuedTest, IsHandedOutAtOnceAfterARestartOfTheOnlyProcess) {
  store.set_exclusive(true);
  queue(process("a").engine, "k");  // and dies
  Process& b = process("b");
  start(b.engine.recover());
  time.run_for(milliseconds(10));
  ASSERT_EQ(b.handed.size(), 1);
  EXPECT_EQ(b.handed[0].id, id_of("k"));
  EXPECT_EQ(b.handed[0].token, record("k")->token);
  EXPECT_TRUE(std::holds_alternative<EngineClaim>(begin(b.engine, "k")));
}

// It would take a place among the work that waits, although it has begun or is put off.
TEST_F(QueuedTest, WhatThisRunHasQueuedIsNotHandedOutByItsRecovery) {
  store.set_exclusive(true);
  Process& a = process("a");
  const Record queued = queue(a.engine, "k");
  a.engine.put_off({queued.id, queued.token});
  start(a.engine.recover());
  time.run_for(milliseconds(10));
  EXPECT_TRUE(a.handed.empty());
}

TEST_F(QueuedTest, IsHandedOutToAnotherProcessWhenItsLeaseRanOut) {
  queue(process("a").engine, "k");  // and dies
  Process& b = process("b");
  start(b.engine.sweep_forever());
  time.run_for(seconds(29));
  EXPECT_TRUE(b.handed.empty());
  time.run_for(seconds(3));
  ASSERT_EQ(b.handed.size(), 1);
  EXPECT_TRUE(std::holds_alternative<EngineClaim>(begin(b.engine, "k")));
}

TEST_F(QueuedTest, WhatIsPutOffIsHandedOutAgainLater) {
  store.set_exclusive(true);
  Process& a = process("a");
  start(a.engine.sweep_forever());
  const Record queued = queue(a.engine, "k");
  a.engine.put_off({queued.id, queued.token});
  time.run_for(minutes(1) + seconds(5));
  ASSERT_EQ(a.handed.size(), 1);  // once: it is held since
  a.engine.put_off(a.handed[0]);
  time.run_for(seconds(32));
  EXPECT_EQ(a.handed.size(), 2);
}

TEST_F(QueuedTest, PutOffWorkDoesNotKeepTheSweeperFromTheRest) {
  Process& a = process("a");
  operation.ttl = seconds(1);
  for (std::size_t i = 0; i < 2 * kSweepBatch; ++i) {
    const Record queued = queue(a.engine, "q" + std::to_string(i));
    a.engine.put_off({queued.id, queued.token});
  }
  time.run_for(minutes(1));
  run(a.engine.finish(claim(a.engine, "k"), final_outcome("paid")));
  time.run_for(seconds(2));
  start(a.engine.sweep_forever());
  time.run_for(seconds(2));
  EXPECT_EQ(record("k"), std::nullopt);
}

TEST_F(QueuedTest, ALostReplyToTheQueueingIsConfirmedByAWrite) {
  Process& a = process("a");
  store.next_swaps({Fault::lost_reply});
  const Record queued = queue(a.engine, "k");
  EXPECT_EQ(record("k"), queued);
  EXPECT_EQ(store.swaps(), 3);
}

TEST_F(QueuedTest, WhatCouldNotBeQueuedIsNotQueuedLater) {
  Process& a = process("a");
  store.next_swaps({Fault::lost_write});
  store.set_down(true);
  Admission admission = run(a.engine.admit(queued_call("k")));
  EXPECT_TRUE(std::holds_alternative<StoreUnavailable>(admission));
  store.set_down(false);
  time.run_for(seconds(5));
  EXPECT_EQ(state("k"), RecordState::released);
  EXPECT_EQ(record("k")->request, "");
  EXPECT_TRUE(a.handed.empty());
}

TEST_F(QueuedTest, WhatMayHaveBeenSeenAsQueuedIsDone) {
  Process& a = process("a");
  store.next_swaps({Fault::lost_reply});
  store.set_down(true);
  Admission admission = run(a.engine.admit(queued_call("k")));
  EXPECT_TRUE(std::holds_alternative<StoreUnavailable>(admission));
  store.set_down(false);
  time.run_for(seconds(5));
  EXPECT_EQ(state("k"), RecordState::queued);
  EXPECT_EQ(a.handed.size(), 1);
}

TEST_F(QueuedTest, ALostReplyToTheStartIsConfirmedByAWrite) {
  Process& a = process("a");
  queue(a.engine, "k");
  store.next_swaps({Fault::lost_reply});
  EngineClaim claim = std::get<EngineClaim>(begin(a.engine, "k"));
  EXPECT_EQ(record("k"), *claim.record);
  EXPECT_EQ(claim.record->attempt, 1);
}

TEST_F(QueuedTest, AStartOfUnknownFateIsQueuedAgain) {
  store.set_exclusive(true);
  Process& a = process("a");
  start(a.engine.sweep_forever());
  const Record queued = queue(a.engine, "k");
  store.next_swaps({Fault::lost_reply});
  store.set_down(true);
  Started started = run(a.engine.start(std::make_shared<const Record>(queued), operation));
  EXPECT_TRUE(std::holds_alternative<StoreUnavailable>(started));
  EXPECT_EQ(state("k"), RecordState::in_progress);  // nobody executes it
  store.set_down(false);
  time.run_for(seconds(5));
  EXPECT_EQ(state("k"), RecordState::queued);
  ASSERT_EQ(a.handed.size(), 1);
  EngineClaim claim = std::get<EngineClaim>(begin(a.engine, "k"));
  EXPECT_EQ(claim.record->attempt, 2);
}

TEST_F(QueuedTest, AStartThatOutlastsItsLeaseOnTheWayIsQueuedAgain) {
  Process& a = process("a");
  operation.lease = seconds(1);
  queue(a.engine, "k");
  store.before_next_swap([&] { clock.set_offset(seconds(2)); });  // or two seconds in a pause
  const Started started = begin(a.engine, "k");
  EXPECT_TRUE(std::holds_alternative<StoreUnavailable>(started));
  EXPECT_EQ(a.engine.running().executions, 0);
  time.run_for(seconds(1));
  EXPECT_EQ(state("k"), RecordState::queued);
}

TEST_F(QueuedTest, AStartThatReachesNobodyLeavesItQueued) {
  Process& a = process("a");
  const Record queued = queue(a.engine, "k");
  store.set_down(true);
  Started started = run(a.engine.start(std::make_shared<const Record>(queued), operation));
  EXPECT_TRUE(std::holds_alternative<StoreUnavailable>(started));
  store.set_down(false);
  start(a.engine.sweep_forever());
  time.run_for(seconds(35));
  EXPECT_EQ(record("k")->attempt, 0);
  EXPECT_EQ(a.handed.size(), 1);
}

TEST_F(QueuedTest, WhoWaitsForItIsWokenWhenItBeginsAndWhenItEnds) {
  Process& a = process("a");
  start(a.engine.keep());
  const Record queued = queue(a.engine, "k");
  Later<Waited> waits = start(a.engine.wait(queued.id, queued.token, minutes(1)));
  time.run_for(seconds(5));
  EXPECT_FALSE(waits.done());
  EngineClaim claim = std::get<EngineClaim>(begin(a.engine, "k"));
  ASSERT_TRUE(waits.done());
  EXPECT_TRUE(std::holds_alternative<waited::LookAgain>(waits.value()));
  Later<Waited> waits_on = start(a.engine.wait(queued.id, claim.record->token, minutes(1)));
  run(a.engine.finish(claim, final_outcome("paid")));
  ASSERT_TRUE(waits_on.done());
  EXPECT_EQ(std::get<std::shared_ptr<const Settled>>(waits_on.value())->outcome.answer.body,
            "paid");
}

TEST_F(QueuedTest, ADuplicateFindsItBusyAndAnotherRequestDiffers) {
  Process& a = process("a");
  const Record queued = queue(a.engine, "k");
  Admission again = run(a.engine.admit(queued_call("k")));
  EXPECT_EQ(*std::get<admission::Busy>(again).record, queued);
  EXPECT_TRUE(std::holds_alternative<admission::Busy>(run(a.engine.admit(call("k")))));
  Admission other = run(a.engine.admit(queued_call("k", "pay 99")));
  EXPECT_TRUE(std::holds_alternative<admission::Mismatch>(other));
}

TEST_F(QueuedTest, TheNextTryIsHandedOutWhenItIsDueAndNotBefore) {
  Process& a = process("a");
  start(a.engine.sweep_forever());
  queue(a.engine, "k");
  EngineClaim claim = std::get<EngineClaim>(begin(a.engine, "k"));
  Outcome failed{OutcomeKind::retry, {}, "status 503"};
  failed.queue_again_after = minutes(10);
  const Finished finished = run(a.engine.finish(claim, failed));
  EXPECT_EQ(std::get<finish::Recorded>(finished).record->state, RecordState::queued);
  EXPECT_EQ(a.engine.running().executions, 0);
  time.run_for(minutes(9));
  EXPECT_TRUE(a.handed.empty());
  time.run_for(minutes(2));
  ASSERT_EQ(a.handed.size(), 1);
  EngineClaim next = std::get<EngineClaim>(begin(a.engine, "k"));
  EXPECT_EQ(next.record->attempt, 2);
}

TEST_F(QueuedTest, TheNextTryIsDueWhenItSaysSoAlsoAfterARestart) {
  store.set_exclusive(true);
  Process& a = process("a");
  queue(a.engine, "k");
  EngineClaim claim = std::get<EngineClaim>(begin(a.engine, "k"));
  Outcome failed{OutcomeKind::retry, {}, "status 503"};
  failed.queue_again_after = minutes(10);
  run(a.engine.finish(claim, failed));
  Process& b = process("b");
  start(b.engine.recover());
  time.run_for(seconds(1));
  start(b.engine.sweep_forever());
  time.run_for(minutes(9));
  EXPECT_TRUE(b.handed.empty());
  time.run_for(minutes(2));
  EXPECT_EQ(b.handed.size(), 1);
}

TEST_F(QueuedTest, AnExecutionLostWithItsProcessIsTriedAgainWhereThatIsSaid) {
  store.set_exclusive(true);
  Process& a = process("a");
  for (const char* key : {"again", "not"}) {
    queue(a.engine, key);
    EXPECT_TRUE(std::holds_alternative<EngineClaim>(begin(a.engine, key)));
  }
  Process& b = process("b");
  b.engine.ask_about_kept([](const Record& lost) -> KeptWork {
    if (lost.key != "again") return kept::StaysUnknown{};
    return kept::TriedAgain{minutes(1)};
  });
  start(b.engine.recover());
  time.run_for(seconds(1));
  EXPECT_EQ(state("again"), RecordState::queued);
  EXPECT_EQ(state("not"), RecordState::unknown);
  EXPECT_TRUE(b.handed.empty());
  start(b.engine.sweep_forever());
  time.run_for(minutes(2));
  ASSERT_EQ(b.handed.size(), 1);
  EXPECT_EQ(std::get<EngineClaim>(begin(b.engine, "again")).record->attempt, 2);
}

class ForeignWorkTest : public QueuedTest {
 protected:
  // One that knows nothing of this work, and one that does.
  Process& stranger(std::string name) {
    Process& added = process(std::move(name));
    added.engine.ask_about_kept([](const Record&) -> KeptWork { return kept::NotOurs{}; });
    return added;
  }
  Process& knower(std::string name) {
    Process& added = process(std::move(name));
    added.engine.ask_about_kept(
        [](const Record&) -> KeptWork { return kept::TriedAgain{seconds(1)}; });
    return added;
  }
  void lose(const std::string& key) {
    Process& dies = process("dies");
    queue(dies.engine, key);
    ASSERT_TRUE(std::holds_alternative<EngineClaim>(begin(dies.engine, key)));
  }
};

TEST_F(ForeignWorkTest, WhatIsLostIsDecidedByAProcessThatKnowsItsRoute) {
  lose("k");
  start(stranger("b").engine.sweep_forever());  // looks first
  time.run_for(milliseconds(500));
  Process& c = knower("c");
  start(c.engine.sweep_forever());
  time.run_for(seconds(36));  // its lease of 30 s, the skew, a second's pause
  ASSERT_EQ(c.handed.size(), 1);
  EXPECT_EQ(std::get<EngineClaim>(begin(c.engine, "k")).record->attempt, 2);
  EXPECT_EQ(observer.left_alone, 0);
}

TEST_F(ForeignWorkTest, WhatNobodyKnowsStaysAsItIsUntilSomebodyDoes) {
  lose("k");
  start(stranger("b").engine.sweep_forever());
  time.run_for(minutes(30));
  EXPECT_EQ(state("k"), RecordState::in_progress);
  EXPECT_EQ(record("k")->request, "POST /charges pay 10");
  EXPECT_GE(observer.left_alone, 30);
  Process& c = knower("c");
  start(c.engine.sweep_forever());
  time.run_for(minutes(1));
  EXPECT_EQ(c.handed.size(), 1);
}

TEST_F(ForeignWorkTest, WhatIsQueuedIsNotKeptFromThoseWhoKnowIt) {
  Process& b = stranger("b");
  start(b.engine.sweep_forever());
  queue(process("dies").engine, "k");
  time.run_for(milliseconds(500));
  Process& c = knower("c");
  start(c.engine.sweep_forever());
  time.run_for(seconds(33));
  EXPECT_EQ(c.handed.size(), 1);
  EXPECT_TRUE(b.handed.empty());
}

TEST_F(ForeignWorkTest, DoesNotKeepTheSweeperFromTheRest) {
  for (std::size_t i = 0; i < 2 * kSweepBatch; ++i) lose("q" + std::to_string(i));
  Process& b = stranger("b");
  operation.ttl = seconds(1);
  time.run_for(minutes(1));
  run(b.engine.finish(claim(b.engine, "k"), final_outcome("paid")));
  time.run_for(seconds(2));
  start(b.engine.sweep_forever());
  time.run_for(seconds(2));
  EXPECT_EQ(record("k"), std::nullopt);
  EXPECT_EQ(state("q0"), RecordState::in_progress);
}

TEST_F(ForeignWorkTest, IsUnknownWhereNoOtherProcessCanBe) {
  store.set_exclusive(true);
  lose("k");
  Process& b = stranger("b");
  start(b.engine.recover());
  time.run_for(seconds(1));
  EXPECT_EQ(state("k"), RecordState::unknown);
}

TEST_F(QueuedTest, WhatAnOperatorReleasedIsNotStarted) {
  Process& a = process("a");
  const Record queued = queue(a.engine, "k");
  a.engine.put_off({queued.id, queued.token});
  Resolution release{.answer = std::nullopt, .who = "ada", .why = "its route is gone"};
  EXPECT_TRUE(std::holds_alternative<resolve::Done>(run(a.engine.resolve(queued.id, release))));
  EXPECT_TRUE(std::holds_alternative<start::Gone>(
      run(a.engine.start(std::make_shared<const Record>(queued), operation))));
}

}  // namespace
}  // namespace semel::engine
