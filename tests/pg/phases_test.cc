#include <gmock/gmock.h>

#include <map>
#include <set>

#include "pg/database.h"
#include "semel/derive.h"

namespace semel::pg {
namespace {

// An order: reserve, charge a card, book. The card processor deduplicates by the key.
class PhasesTest : public DatabaseTest {
 protected:
  void SetUp() override {
    operation = PhasedOperation("orders")
                    .phase("reserve",
                           [this](Transaction& t, PhaseState& state) {
                             have_effect(t.connection(), key, "reserve");
                             state["order"] = "o1";
                             at("reserve");
                           })
                    .call("charge",
                          [this](ForeignCall& call, PhaseState& state) {
                            at("before charge");
                            charges[call.key()] += 1;
                            state["charged"] = true;
                            at("charge");
                          })
                    .phase("book",
                           [this](Transaction& t, PhaseState& state) {
                             have_effect(t.connection(), key,
                                         state.contains("charged") ? "book" : "book unpaid");
                             at("book");
                           })
                    .finish([this](Transaction& t, PhaseState& state) {
                      have_effect(t.connection(), key, "finish");
                      at("finish");
                      return created(std::string(state.at("order").as_string()));
                    });
  }

  // Springs the trap at this point, once: in the first run that gets there.
  void at(const std::string& point) {
    const auto found = traps.find(point);
    if (found == traps.end()) return;
    const auto trap = found->second;
    traps.erase(found);
    trap();
  }
  void fail_at(const std::string& point) {
    traps[point] = [] { throw std::runtime_error("planned"); };
  }

  Result run_on(const Connection& connection) {
    return run(connection.get(), operation, call(), arguments);
  }
  void expect_one_order() {
    for (const char* what : {"reserve", "book", "finish"}) EXPECT_EQ(effects(key, what), 1) << what;
    EXPECT_EQ(effects(key, "book unpaid"), 0);
    EXPECT_EQ(charges.size(), 1u);
    EXPECT_EQ(one("SELECT count(*) FROM semel.operations WHERE key = $1", {key}), "0");
    EXPECT_EQ(state_of(id()), "3");
  }
  RecordId id() {
    const auto found = one("SELECT encode(id, 'hex') FROM semel.records WHERE key = $1", {key});
    return parse_claim(found, std::string(32, '0')).record;
  }
  std::string recovery_point() {
    return one("SELECT recovery_point FROM semel.operations WHERE key = $1", {key});
  }
  Completed complete(CompleterOptions options = {}) {
    return complete_abandoned(b.get(), {&operation, 1}, options);
  }

  const std::string key = testing::UnitTest::GetInstance()->current_test_info()->name();
  std::string arguments = R"({"amount":4200})";
  PhasedOperation operation{"orders"};
  std::map<std::string, std::function<void()>> traps;
  std::map<std::string, int> charges;
};

TEST_F(PhasesTest, RunsTheStepsInOrderAndReplaysTheAnswer) {
  const Result first = run_on(a);
  ASSERT_TRUE(std::holds_alternative<Executed>(first));
  EXPECT_EQ(std::get<Executed>(first).answer, created("o1"));
  const Result second = run_on(b);
  ASSERT_TRUE(std::holds_alternative<Replayed>(second));
  EXPECT_EQ(std::get<Replayed>(second).answer, created("o1"));
  expect_one_order();
  EXPECT_EQ(charges.begin()->first, derive(id(), "charge"));
}

TEST_F(PhasesTest, ARetryGoesOnFromTheRecoveryPointWhereverAStepFailed) {
  for (const char* point : {"before charge", "charge", "book", "finish"}) {
    fail_at(point);
    EXPECT_THROW(run_on(a), std::runtime_error) << point;
    EXPECT_EQ(recovery_point(), std::string(point) == "finish" ? "book" : "reserve") << point;
  }
  const Result result = run_on(b);
  ASSERT_TRUE(std::holds_alternative<Executed>(result));
  EXPECT_EQ(std::get<Executed>(result).answer, created("o1"));
  expect_one_order();
  EXPECT_EQ(charges.begin()->second, 3);  // repeated under the same key
}

TEST_F(PhasesTest, AFailureBeforeAnythingWasDoneReleasesTheKey) {
  fail_at("reserve");
  EXPECT_THROW(run_on(a), std::runtime_error);
  EXPECT_EQ(state_of(id()), "4");
  EXPECT_EQ(recovery_point(), "nothing");
  EXPECT_EQ(effects(key), 0);
  run_on(a);
  expect_one_order();
}

TEST_F(PhasesTest, WhileItRunsADuplicateIsBusyAndAnotherRequestAMismatch) {
  traps["charge"] = [this] {
    EXPECT_TRUE(std::holds_alternative<Busy>(run_on(b)));
    arguments = "another";
    EXPECT_TRUE(std::holds_alternative<Mismatch>(run_on(b)));
    EXPECT_THAT(complete().resumed, testing::IsEmpty());
  };
  run_on(a);
  expect_one_order();
}

TEST_F(PhasesTest, ARunnerThatWasOvertakenBetweenPhasesMovesNothing) {
  traps["charge"] = [this] {
    let_lease_run_out(id());
    EXPECT_TRUE(std::holds_alternative<Executed>(run_on(b)));
  };
  EXPECT_THROW(run_on(a), Stale);
  expect_one_order();
}

TEST_F(PhasesTest, AnOpenPhaseIsNotOvertakenWhateverTheClockSays) {
  traps["book"] = [this] {
    let_lease_run_out(id());
    EXPECT_TRUE(std::holds_alternative<Busy>(run_on(b)));
    EXPECT_THAT(complete().resumed, testing::IsEmpty());
  };
  run_on(a);
  expect_one_order();
}

// A gateway with `unknown: retry` claims the record without looking at the operation.
TEST_F(PhasesTest, AClaimMadeElsewhereDuringAPhaseTakesItsEffectBack) {
  traps["book"] = [this] {
    let_lease_run_out(id());
    EXPECT_EQ(one("SELECT verdict FROM semel.claim('shop', 'orders', $1, $2, unknown => 'retry')",
                  {key, bytea(digest_of(arguments))}),
              "execute");
  };
  EXPECT_THROW(run_on(a), Stale);
  EXPECT_EQ(effects(key, "book"), 0);
  EXPECT_EQ(recovery_point(), "reserve");
  let_lease_run_out(id());
  run_on(b);
  expect_one_order();
}

TEST_F(PhasesTest, WhatTheSweeperCalledUnknownIsResumedWithoutAnOperator) {
  fail_at("charge");
  EXPECT_THROW(run_on(a), std::runtime_error);
  one("UPDATE semel.records SET state = 5, due_at = 9223372036854775807 WHERE key = $1 RETURNING 1",
      {key});
  run_on(b);
  expect_one_order();
}

TEST_F(PhasesTest, SerializationFailuresAreRunAgainAndForgetWhatTheTryWrote) {
  int tries = 0;
  const auto result = run(a.get(),
                          PhasedOperation("orders")
                              .isolation(Isolation::serializable)
                              .phase("count",
                                     [&](Transaction& t, PhaseState& state) {
                                       EXPECT_TRUE(state.empty());
                                       state["tries"] = ++tries;
                                       have_effect(t.connection(), key, "count");
                                       if (tries < 3) {
                                         t.query("DO $$ BEGIN RAISE serialization_failure; END $$");
                                       }
                                     })
                              .finish([](Transaction&, PhaseState& state) {
                                return created(std::to_string(state.at("tries").as_int64()));
                              }),
                          call(), arguments);
  EXPECT_EQ(std::get<Executed>(result).answer, created("3"));
  EXPECT_EQ(effects(key), 1);
}

// Two serializable phases that read what the other writes: one is run again, by PostgreSQL's word.
TEST_F(PhasesTest, RealSerializationConflictsEndWithBothDone) {
  query(look.get(), "CREATE TABLE IF NOT EXISTS public.balances (n integer)");
  query(look.get(), "TRUNCATE public.balances");
  bool crossed = false;
  int tries = 0;
  const auto add_seen = [](PGconn* on) {
    query(on, "INSERT INTO public.balances SELECT count(*) FROM public.balances");
  };
  run(a.get(),
      PhasedOperation("orders")
          .isolation(Isolation::serializable)
          .phase("add",
                 [&](Transaction& t, PhaseState&) {
                   ++tries;
                   add_seen(t.connection());
                   if (std::exchange(crossed, true)) return;
                   query(b.get(), "BEGIN ISOLATION LEVEL SERIALIZABLE");
                   add_seen(b.get());
                   query(b.get(), "COMMIT");
                 })
          .finish([](Transaction&, PhaseState&) { return created(); }),
      call(), arguments);
  EXPECT_EQ(tries, 2);
  EXPECT_EQ(one("SELECT string_agg(n::text, ',' ORDER BY n) FROM public.balances"), "0,1");
}

TEST_F(PhasesTest, APhaseThatEndsItsTransactionIsFound) {
  const PhasedOperation careless = PhasedOperation("orders")
                                       .phase("reserve",
                                              [&](Transaction& t, PhaseState&) {
                                                t.query("COMMIT");
                                                t.query("BEGIN");
                                                have_effect(t.connection(), key, "reserve");
                                              })
                                       .finish([](Transaction&, PhaseState&) { return created(); });
  EXPECT_THROW(run(a.get(), careless, call(), arguments), Error);
  EXPECT_EQ(effects(key), 0);
}

TEST_F(PhasesTest, AClaimOfTheGatewayIsAdoptedAndResumedUnderTheNextOne) {
  const auto hand = [&] {
    const Rows rows = query(look.get(),
                            "SELECT encode(record, 'hex'), encode(token, 'hex') "
                            "FROM semel.claim('shop', 'orders', $1, unknown => 'retry')",
                            {key});
    return parse_claim(rows.at(0, 0), rows.at(0, 1));
  };
  const Claim first = hand();
  fail_at("charge");
  EXPECT_THROW(run(a.get(), operation, first, arguments), std::runtime_error);
  const Claim second = hand();
  EXPECT_THROW(run(a.get(), operation, first, arguments), Stale);
  const Result result = run(a.get(), operation, second, "not the first arguments");
  EXPECT_TRUE(std::holds_alternative<Executed>(result));
  expect_one_order();
}

TEST_F(PhasesTest, TheArgumentsAreThoseOfTheFirstAttempt) {
  std::set<std::string> seen;
  const PhasedOperation looking = PhasedOperation("orders")
                                      .call("look",
                                            [&](ForeignCall& call, PhaseState&) {
                                              seen.insert(std::string(call.arguments()));
                                              at("look");
                                            })
                                      .finish([](Transaction&, PhaseState&) { return created(); });
  arguments = std::string("\0 and \xff", 7);
  fail_at("look");
  EXPECT_THROW(run(a.get(), looking, call(), arguments), std::runtime_error);
  let_lease_run_out(id());
  EXPECT_EQ(complete_abandoned(b.get(), {&looking, 1}).resumed.size(), 1u);
  EXPECT_THAT(seen, testing::ElementsAre(arguments));
}

TEST_F(PhasesTest, TheCompleterResumesWhatIsDueAndNothingElse) {
  fail_at("charge");
  EXPECT_THROW(run_on(a), std::runtime_error);
  EXPECT_THAT(complete().resumed, testing::IsEmpty());  // it waits before it tries
  let_lease_run_out(id());
  const Completed done = complete();
  ASSERT_EQ(done.resumed.size(), 1u);
  EXPECT_EQ(done.resumed[0].key, key);
  EXPECT_EQ(done.resumed[0].answer, created("o1"));
  EXPECT_THAT(complete().resumed, testing::IsEmpty());
  expect_one_order();
  EXPECT_TRUE(std::holds_alternative<Replayed>(run_on(a)));
}

TEST_F(PhasesTest, WhatFailsTooOftenIsListedAndARetryStillResumesIt) {
  fail_at("charge");
  EXPECT_THROW(run_on(a), std::runtime_error);
  for (int i = 0; i < 2; ++i) {
    let_lease_run_out(id());
    fail_at("charge");
    const Completed done = complete({.max_attempts = 2});
    ASSERT_EQ(done.resumed.size(), 1u);
    EXPECT_EQ(done.resumed[0].error, "planned");
  }
  let_lease_run_out(id());
  const Completed done = complete({.max_attempts = 2});
  EXPECT_THAT(done.resumed, testing::IsEmpty());
  ASSERT_EQ(done.stuck.size(), 1u);
  EXPECT_EQ(done.stuck[0].recovery_point, "reserve");
  EXPECT_EQ(done.stuck[0].attempts, 2);
  EXPECT_EQ(done.stuck[0].why, "planned");
  run_on(a);
  expect_one_order();
}

TEST_F(PhasesTest, WhatAnOperatorHasDecidedIsNotResumed) {
  fail_at("charge");
  EXPECT_THROW(run_on(a), std::runtime_error);
  let_lease_run_out(id());
  one("UPDATE semel.records SET state = 3 WHERE key = $1 RETURNING 1", {key});
  const Completed done = complete();
  EXPECT_THAT(done.resumed, testing::IsEmpty());
  ASSERT_EQ(done.stuck.size(), 1u);
  EXPECT_THAT(done.stuck[0].why, testing::HasSubstr("somebody else"));
  one("DELETE FROM semel.operations WHERE key = $1 RETURNING 1", {key});
}

TEST_F(PhasesTest, AForgottenRecordDoesNotMakeAnUnfinishedOperationNew) {
  fail_at("charge");
  EXPECT_THROW(run_on(a), std::runtime_error);
  one("DELETE FROM semel.records WHERE key = $1 RETURNING 1", {key});
  const std::string mine = std::exchange(arguments, "another request");
  EXPECT_TRUE(std::holds_alternative<Mismatch>(run_on(a)));
  arguments = mine;
  run_on(a);
  expect_one_order();
}

TEST_F(PhasesTest, ARoleResumesOnlyWhatIsGrantedToIt) {
  fail_at("charge");
  EXPECT_THROW(run_on(a), std::runtime_error);
  let_lease_run_out(id());
  query(look.get(), "DROP ROLE IF EXISTS helper");
  query(look.get(), "CREATE ROLE helper LOGIN");
  query(look.get(), "SELECT semel.allow('helper', 'another shop', '*')");
  query(look.get(), "GRANT INSERT ON public.effects TO helper");
  std::string url = server_url();
  url.replace(url.find("semel@"), 5, "helper");
  b = connect(url);
  EXPECT_THROW(run_on(b), Error);
  EXPECT_THAT(complete().resumed, testing::IsEmpty());
  EXPECT_THROW(query(b.get(), "SELECT * FROM semel.operations"), Error);
  EXPECT_THROW(query(b.get(), "SELECT semel.put_operation('orders', 'x', NULL, '', '1 s')"), Error);
  query(look.get(), "SELECT semel.allow('helper', 'shop', 'orders')");
  const Completed done = complete();
  ASSERT_EQ(done.resumed.size(), 1u);
  EXPECT_EQ(done.resumed[0].error, "");
  expect_one_order();
  query(look.get(), "SELECT semel.disallow('helper', 'shop', 'orders')");
  query(look.get(), "SELECT semel.disallow('helper', 'another shop', '*')");
  query(look.get(), "REVOKE INSERT ON public.effects FROM helper");
  b.reset();
  query(look.get(), "DROP ROLE helper");
}

TEST_F(PhasesTest, ARenamedStepIsAnErrorAndNotAFreshStart) {
  fail_at("charge");
  EXPECT_THROW(run_on(a), std::runtime_error);
  const PhasedOperation renamed = PhasedOperation("orders")
                                      .phase("hold", [](Transaction&, PhaseState&) { FAIL(); })
                                      .finish([](Transaction&, PhaseState&) { return created(); });
  EXPECT_THROW(run(a.get(), renamed, call(), arguments), Error);
  run_on(a);
  expect_one_order();
}

TEST(OperationTest, NamesAreThereAndDiffer) {
  const auto nothing = [](Transaction&, PhaseState&) {};
  EXPECT_THROW(PhasedOperation(""), std::invalid_argument);
  EXPECT_THROW(PhasedOperation("o").phase("", nothing), std::invalid_argument);
  EXPECT_THROW(PhasedOperation("o").phase("a", nothing).phase("a", nothing), std::invalid_argument);
  EXPECT_THROW(PhasedOperation("o").phase("a", nothing).require_finish(), std::invalid_argument);
}

}  // namespace
}  // namespace semel::pg
