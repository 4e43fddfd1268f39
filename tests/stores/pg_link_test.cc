// A link whose server reads slowly, or no longer.
#include "postgres/link.h"

#include <gtest/gtest.h>

#include <csignal>

#include "stores/postgres_harness.h"

namespace semel {
namespace {

using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

// More than the sockets between us and the server hold.
const std::string kLarge(64 << 20, 'x');

TEST(PgLink, SendsAStatementThatIsLargerThanTheSocketHolds) {
  PgLink link = PgLink::connect(postgres_url()).value();
  const auto rows = link.run("SELECT length($1::text)::bigint", {kLarge.c_str()});
  ASSERT_TRUE(rows) << rows.error().why;
  EXPECT_EQ(rows->number(0, 0), static_cast<std::int64_t>(kLarge.size()));
}

TEST(PgLink, GivesUpAServerThatReadsNoLonger) {
  PgLink link = PgLink::connect(postgres_url()).value();
  const int server = link.backend_pid();
  ASSERT_EQ(kill(server, SIGSTOP), 0);
  const auto begun = Clock::now();
  link.set_deadline(begun + seconds(1));
  const auto rows = link.run("SELECT length($1::text)::bigint", {kLarge.c_str()});
  ASSERT_EQ(kill(server, SIGCONT), 0);
  ASSERT_FALSE(rows);
  EXPECT_TRUE(rows.error().lost) << rows.error().why;
  EXPECT_LT(Clock::now() - begun, seconds(20));
}

}  // namespace
}  // namespace semel
