#include <gmock/gmock.h>

#include "pg/database.h"
#include "semel/derive.h"
#include "semel/driver/scope.h"

namespace semel::pg {
namespace {

class OnceTest : public DatabaseTest {
 protected:
  // In a transaction that is left open.
  Result begin_and_do(PGconn* connection, const Call& what, const std::string& body = "{}") {
    query(connection, "BEGIN");
    return once(connection, orders, what, [&](const Claim&) {
      have_effect(connection, what.key, "done");
      return created(body);
    });
  }
  void end(PGconn* connection, const char* how = "COMMIT") { query(connection, how); }
};

TEST_F(OnceTest, TheFirstExecutesAndTheSecondReplaysTheSameBytes) {
  const Call what = call();
  const std::string body("\0\xff{\"id\":1}", 10);
  const Result first = begin_and_do(a.get(), what, body);
  end(a.get());
  ASSERT_TRUE(std::holds_alternative<Executed>(first));
  const Result second = begin_and_do(b.get(), what);
  end(b.get());
  ASSERT_TRUE(std::holds_alternative<Replayed>(second));
  EXPECT_EQ(std::get<Replayed>(second).answer, created(body));
  EXPECT_EQ(std::get<Replayed>(second).record, make_id({"default", "shop", "orders"}, what.key));
  EXPECT_EQ(effects(what.key), 1);
}

// A parameter of libpq has no type unless one is said.
TEST_F(OnceTest, TextInAParameterWithoutATypeIsKeptAsItIs) {
  const std::string text = R"({"a":"x\ny","b":"\u00e9"})";
  const std::string id = one("SELECT semel.enqueue($1, $2, $3)", {"texts", text, "k"});
  const auto payload = [&] {
    return query(look.get(), "SELECT payload FROM semel.outbox WHERE id = $1", {id}).bytes(0, 0);
  };
  EXPECT_EQ(payload(), text);
  const Call what = call();
  const std::string made = "(SELECT c FROM semel.claim('shop', 'orders', $1) AS c)";
  one("SELECT semel.complete((c).record, (c).token, $2, $3, $4) FROM " + made + " AS x(c)",
      {what.key, "201", "[]", text});
  EXPECT_EQ(query(look.get(), "SELECT body FROM semel.claim('shop', 'orders', $1)", {what.key})
                .bytes(0, 0),
            text);
}

TEST_F(OnceTest, WhileTheTransactionIsOpenOthersAreTold) {
  const Call what = call();
  begin_and_do(a.get(), what);
  EXPECT_TRUE(std::holds_alternative<Busy>(begin_and_do(b.get(), what)));
  end(b.get());
  end(a.get(), "ROLLBACK");
  EXPECT_TRUE(std::holds_alternative<Executed>(begin_and_do(b.get(), what)));
  end(b.get());
  EXPECT_EQ(effects(what.key), 1);
}

TEST_F(OnceTest, AnotherRequestUnderTheKeyIsAMismatch) {
  Call what = call();
  what.fingerprint = digest_of("4200");
  begin_and_do(a.get(), what);
  end(a.get());
  what.fingerprint = digest_of("9900");
  EXPECT_TRUE(std::holds_alternative<Mismatch>(begin_and_do(b.get(), what)));
  end(b.get());
  EXPECT_EQ(effects(what.key), 1);
}

TEST_F(OnceTest, WhatTheWorkThrowsPassesAndARollbackLeavesNothing) {
  const Call what = call();
  query(a.get(), "BEGIN");
  EXPECT_THROW(once(a.get(), orders, what,
                    [&](const Claim&) -> Answer {
                      have_effect(a.get(), what.key, "half");
                      throw std::domain_error("no stock");
                    }),
               std::domain_error);
  end(a.get(), "ROLLBACK");
  EXPECT_EQ(effects(what.key), 0);
  EXPECT_TRUE(std::holds_alternative<Executed>(begin_and_do(a.get(), what)));
  end(a.get());
}

TEST_F(OnceTest, AnExceptionThatWasSwallowedCannotCommitHalfOfIt) {
  const Call what = call();
  query(a.get(), "BEGIN");
  try {
    once(a.get(), orders, what, [&](const Claim&) -> Answer {
      have_effect(a.get(), what.key, "half");
      throw std::domain_error("swallowed");
    });
  } catch (const std::domain_error&) {
  }
  EXPECT_THROW(query(a.get(), "COMMIT"), Stale);
  EXPECT_EQ(effects(what.key), 0);
}

TEST_F(OnceTest, AKeyWithAZeroByteIsNotTheKeyBeforeIt) {
  EXPECT_THROW(begin_and_do(a.get(), call(std::string("key\0more", 8))), Error);
  EXPECT_EQ(effects("key"), 0);
}

TEST_F(OnceTest, ABodyThatWasTooLargeToKeepIsToldSo) {
  const Call what = call();
  begin_and_do(a.get(), what);
  end(a.get());
  one("UPDATE semel.records SET flags = flags | 4 WHERE key = $1 RETURNING 1", {what.key});
  const Result again = begin_and_do(a.get(), what);
  end(a.get());
  EXPECT_EQ(std::get<Replayed>(again).answer.body_note, BodyNote::omitted);
  EXPECT_EQ(std::get<Replayed>(again).answer.status, 201);
}

TEST_F(OnceTest, NeedsATransaction) {
  EXPECT_THROW(once(a.get(), orders, call(), [](const Claim&) { return created(); }), Error);
}

TEST_F(OnceTest, ByItselfIsRunAgainWhereItFailedInPassing) {
  const Call what = call();
  int tries = 0;
  const Result result = once_by_itself(a.get(), orders, what, [&](const Claim&) {
    have_effect(a.get(), what.key, "done");
    if (++tries < 3) query(a.get(), "DO $$ BEGIN RAISE serialization_failure; END $$");
    return created();
  });
  EXPECT_TRUE(std::holds_alternative<Executed>(result));
  EXPECT_EQ(tries, 3);
  EXPECT_EQ(effects(what.key), 1);
}

TEST_F(OnceTest, ByItselfGivesUpAfterAFewTries) {
  int tries = 0;
  EXPECT_THROW(once_by_itself(a.get(), orders, call(),
                              [&](const Claim&) -> Answer {
                                ++tries;
                                query(a.get(), "DO $$ BEGIN RAISE deadlock_detected; END $$");
                                return created();
                              }),
               Error);
  EXPECT_EQ(tries, 5);
  EXPECT_EQ(PQtransactionStatus(a.get()), PQTRANS_IDLE);
}

TEST_F(OnceTest, DerivesTheSameKeysAsSql) {
  const Call what = call();
  query(a.get(), "BEGIN");
  once(a.get(), orders, what, [&](const Claim& claim) {
    const Rows rows =
        query(a.get(), "SELECT semel.derive_key($1, 'charge')", {"\\x" + claim.record.hex()});
    EXPECT_EQ(claim.derive("charge"), rows.at(0, 0));
    EXPECT_EQ(claim.derive("charge"), derive(claim.record, "charge"));
    return created();
  });
  end(a.get());
}

TEST_F(OnceTest, AHandedClaimIsCompletedInTheTransactionOfTheEffect) {
  const Call what = call();
  const Rows rows =
      query(a.get(), "SELECT record, token FROM semel.claim('shop', 'orders', $1)", {what.key});
  const std::string record(rows.at(0, 0).substr(2)), token(rows.at(0, 1).substr(2));
  const Claim mine = parse_claim(record, token);
  query(a.get(), "BEGIN");
  guard(a.get(), mine);
  have_effect(a.get(), what.key, "done");
  complete(a.get(), mine, created());
  end(a.get());
  EXPECT_EQ(state_of(mine.record), "3");

  const Claim zombie = parse_claim(record, "00112233445566778899aabbccddeeff");
  query(a.get(), "BEGIN");
  have_effect(a.get(), what.key, "again");
  EXPECT_THROW(complete(a.get(), zombie, created()), Stale);
  end(a.get());  // answered with ROLLBACK
  EXPECT_EQ(effects(what.key), 1);
}

TEST_F(OnceTest, BadHeadersAreNamed) {
  const auto error_of = [](const std::string& record, const std::string& token) -> std::string {
    try {
      parse_claim(record, token);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(error_of("12", std::string(32, 'a')), testing::HasSubstr("Semel-Record"));
  EXPECT_THAT(error_of(std::string(64, 'a'), std::string(31, 'a') + "g"),
              testing::HasSubstr("Semel-Token"));
}

TEST_F(OnceTest, ARoleWithoutAGrantIsRefused) {
  query(look.get(), "DROP ROLE IF EXISTS stranger");
  query(look.get(), "CREATE ROLE stranger LOGIN");
  std::string url = server_url();
  url.replace(url.find("semel@"), 5, "stranger");
  const Connection stranger = connect(url);
  EXPECT_THROW(begin_and_do(stranger.get(), call()), Error);
}

}  // namespace
}  // namespace semel::pg
