#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "pg/database.h"
#include "semel/driver/scope.h"
#include "semel/pg_inbox.h"

namespace semel::pg {
namespace {

class PgInboxTest : public DatabaseTest {
 protected:
  const std::string id = testing::UnitTest::GetInstance()->current_test_info()->name();
  const Inbox inbox{{.name = "payments"}, "shop"};

  Work pay(PGconn* connection) {
    return [this, connection](const Claim&) {
      have_effect(connection, id, "paid");
      return created("paid");
    };
  }
  // A delivery: one transaction, which is ended like this.
  InboxResult deliver(PGconn* connection, const char* end = "COMMIT", const char* body = "pay 7") {
    query(connection, "BEGIN");
    InboxResult result = inbox.once(connection, id, body, pay(connection));
    query(connection, end);
    return result;
  }
  // A consumer that dies after the handler has run: before COMMIT, or after it and before the
  // broker is told.
  void deliver_and_be_killed(bool after_commit) {
    const pid_t child = fork();
    if (child == 0) {
      const Connection own = connect();
      query(own.get(), "BEGIN");
      inbox.once(own.get(), id, "pay 7", pay(own.get()));
      if (after_commit) query(own.get(), "COMMIT");
      kill(getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
  }
  // Its server process may not have noticed yet that the consumer is dead.
  InboxResult deliver_until_nobody_is_at_it() {
    for (;;) {
      InboxResult result = deliver(a.get());
      if (!std::holds_alternative<inbox::Again>(result)) return result;
    }
  }
};

TEST_F(PgInboxTest, AMessageThatComesAgainIsDoneWithoutACall) {
  EXPECT_FALSE(std::get<inbox::Done>(deliver(a.get())).before);
  const auto again = std::get<inbox::Done>(deliver(b.get()));
  EXPECT_TRUE(again.before);
  EXPECT_EQ(again.answer, created("paid"));
  EXPECT_EQ(effects(id), 1);
}

TEST_F(PgInboxTest, ARollbackTakesBackTheEffectAndTheRecord) {
  EXPECT_FALSE(std::get<inbox::Done>(deliver(a.get(), "ROLLBACK")).before);
  EXPECT_EQ(effects(id), 0);
  EXPECT_FALSE(std::get<inbox::Done>(deliver(a.get())).before);
  EXPECT_EQ(effects(id), 1);
}

TEST_F(PgInboxTest, AConsumerKilledBeforeTheCommitHasDoneNothing) {
  deliver_and_be_killed(/*after_commit=*/false);
  EXPECT_FALSE(std::get<inbox::Done>(deliver_until_nobody_is_at_it()).before);
  EXPECT_EQ(effects(id), 1);
}

TEST_F(PgInboxTest, AConsumerKilledBeforeTheAcknowledgementHasDoneItOnce) {
  deliver_and_be_killed(/*after_commit=*/true);
  EXPECT_TRUE(std::get<inbox::Done>(deliver_until_nobody_is_at_it()).before);
  EXPECT_EQ(effects(id), 1);
}

TEST_F(PgInboxTest, TwoAtOnceAreOneAndALaterDelivery) {
  query(a.get(), "BEGIN");
  inbox.once(a.get(), id, "pay 7", pay(a.get()));
  EXPECT_EQ(std::get<inbox::Again>(deliver(b.get())).attempt, 0u);
  query(a.get(), "COMMIT");
  EXPECT_TRUE(std::get<inbox::Done>(deliver(b.get())).before);
  EXPECT_EQ(effects(id), 1);
}

TEST_F(PgInboxTest, AnotherMessageUnderTheIdIsRefused) {
  deliver(a.get());
  EXPECT_TRUE(std::holds_alternative<inbox::Refused>(deliver(a.get(), "COMMIT", "pay 9")));
  EXPECT_EQ(effects(id), 1);
}

TEST_F(PgInboxTest, AHandlerMayReturnAnAnswerWithoutAStatus) {
  const auto pays = [this](const Claim&) -> Answer {
    have_effect(a.get(), id, "paid");
    return {};
  };
  for (const bool before : {false, true}) {
    const auto done = std::get<inbox::Done>(inbox.once_by_itself(a.get(), id, "pay 7", pays));
    EXPECT_EQ(done.before, before);
    EXPECT_EQ(done.answer.status, 200);
  }
  query(a.get(), "BEGIN");
  EXPECT_TRUE(std::get<inbox::Done>(inbox.once(a.get(), id, "pay 7", pays)).before);
  query(a.get(), "COMMIT");
  EXPECT_EQ(effects(id), 1);
}

TEST_F(PgInboxTest, AHandlerThatThrowsIsToBeCalledAgain) {
  const auto throws = [this](const Claim&) -> Answer {
    have_effect(a.get(), id, "half");
    throw std::runtime_error("no");
  };
  EXPECT_THROW(inbox.once_by_itself(a.get(), id, "pay 7", throws), std::runtime_error);
  EXPECT_EQ(effects(id), 0);
  EXPECT_FALSE(
      std::get<inbox::Done>(inbox.once_by_itself(a.get(), id, "pay 7", pay(a.get()))).before);
  EXPECT_EQ(effects(id), 1);
}

TEST_F(PgInboxTest, WhatSomebodyElseLeftUnknownIsPutAside) {
  const RecordId record = make_id({"default", "shop", "payments"}, id);
  one("SELECT semel.claim(tenant => 'shop', operation => 'payments', key => $1, fingerprint => $2, "
      "lease => '1 s')",
      {id, bytea(digest_of("pay 7"))});
  let_lease_run_out(record);
  const auto unknown = std::get<inbox::Unknown>(deliver(a.get()));
  EXPECT_EQ(unknown.record, record);
  EXPECT_EQ(effects(id), 0);
}

}  // namespace
}  // namespace semel::pg
