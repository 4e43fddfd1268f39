// A link whose server reads slowly, or no longer.
#include "postgres/link.h"

#include <gtest/gtest.h>

#include <csignal>

#include "stores/postgres_harness.h"

namespace semel::stores {
namespace {

using std::chrono::seconds;
using Steady = std::chrono::steady_clock;

// More than the sockets between us and the server hold.
const std::string kLarge(64 << 20, 'x');

TEST(PgLink, SendsAStatementThatIsLargerThanTheSocketHolds) {
  postgres::PgLink link = postgres::PgLink::connect(postgres_url()).value();
  const auto rows = link.run("SELECT length($1::text)::bigint", {kLarge.c_str()});
  ASSERT_TRUE(rows) << rows.error().why;
  EXPECT_EQ(rows->number(0, 0), static_cast<std::int64_t>(kLarge.size()));
}

TEST(PgLink, RunsAScriptUpToItsFirstError) {
  postgres::PgLink link = postgres::PgLink::connect(postgres_url()).value();
  ASSERT_TRUE(link.run_script("CREATE TEMP TABLE done (step int); INSERT INTO done VALUES (1)"));
  const auto failed = link.run_script(
      "INSERT INTO done VALUES (2);"
      "DO $$ BEGIN RAISE EXCEPTION 'no' USING HINT = 'ask', ERRCODE = '55P03'; END $$;"
      "INSERT INTO done VALUES (3)");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().why, "no");
  EXPECT_EQ(failed.error().hint, "ask");
  EXPECT_EQ(failed.error().sqlstate, postgres::sqlstate::kLockNotAvailable);
  EXPECT_FALSE(failed.error().lost);
  // The statements of a script are one transaction.
  EXPECT_EQ(link.run("SELECT sum(step) FROM done")->number(0, 0), 1);
}

TEST(PgLink, GivesUpAServerThatReadsNoLonger) {
  postgres::PgLink link = postgres::PgLink::connect(postgres_url()).value();
  const int server = link.backend_pid();
  ASSERT_EQ(kill(server, SIGSTOP), 0);
  const auto begun = Steady::now();
  link.set_deadline(begun + seconds(1));
  const auto rows = link.run("SELECT length($1::text)::bigint", {kLarge.c_str()});
  ASSERT_EQ(kill(server, SIGCONT), 0);
  ASSERT_FALSE(rows);
  EXPECT_TRUE(rows.error().lost) << rows.error().why;
  EXPECT_LT(Steady::now() - begun, seconds(20));
}

}  // namespace
}  // namespace semel::stores
