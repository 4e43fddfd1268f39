// The database's time as its replies tell it. If a node were ahead of it, it would take live claims
// of others for lost.
#include "stores/postgres/clock.h"

#include <gtest/gtest.h>

namespace semel::stores {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// A database, and a node that asks it.
class PostgresClockTest : public ::testing::Test {
 protected:
  using Steady = PostgresClock::Steady;

  Time server() const { return Time(seconds(1'700'000'000) + passed_ + set_by_); }
  // A call that the server begins after `there` and whose reply takes `back`.
  void ask(Duration there = milliseconds(1), Duration back = milliseconds(1)) {
    const Steady::time_point asked = now();
    passed_ += there;
    const std::int64_t server_ms = server().time_since_epoch().count();
    passed_ += back;
    clock.saw(server_ms, asked, now());
  }
  void pass(Duration by) { passed_ += by; }
  void set_server(Duration by) { set_by_ += by; }
  Steady::time_point now() const { return Steady::time_point(minutes(10) + passed_); }
  Duration behind() const { return server() - clock.at(now()).value(); }

  PostgresClock clock;

 private:
  Duration passed_{0};
  Duration set_by_{0};
};

TEST_F(PostgresClockTest, IsUnknownUntilAReplyTellsIt) {
  EXPECT_EQ(clock.at(now()), std::nullopt);
  ask();
  EXPECT_TRUE(clock.at(now()));
}

TEST_F(PostgresClockTest, IsBehindByAReplysWayAndNeverAhead) {
  ask(milliseconds(1), milliseconds(40));
  EXPECT_EQ(behind(), milliseconds(41));  // one for what is cut
  ask(milliseconds(1), milliseconds(3));
  EXPECT_EQ(behind(), milliseconds(4));
  for (int i = 0; i < 100; ++i) {
    ask(milliseconds(500), milliseconds(i * 7 % 900));
    EXPECT_GE(behind(), Duration(0));
  }
}

TEST_F(PostgresClockTest, ASlowReplyDoesNotSetItBack) {
  ask();
  pass(seconds(1));
  ask(milliseconds(1), seconds(4));
  EXPECT_LE(behind(), milliseconds(2));
}

TEST_F(PostgresClockTest, AClockThatIsSetBackIsFollowedWithTheFirstReplyThatTellsIt) {
  for (int i = 0; i < 20; ++i) {
    ask();
    pass(milliseconds(500));
  }
  set_server(-minutes(1));
  ask();
  EXPECT_GE(behind(), Duration(0));
  EXPECT_LE(behind(), milliseconds(2));
}

TEST_F(PostgresClockTest, AClockThatIsSetForwardIsFollowedAtOnce) {
  ask();
  set_server(minutes(1));
  ask();
  EXPECT_LE(behind(), milliseconds(2));
  EXPECT_GE(behind(), Duration(0));
}

// A takeover goes by the time in the reply that brought the other node's record.
TEST_F(PostgresClockTest, ALiveClaimMadeAfterTheSetBackIsNotTakenForLost) {
  ask();
  set_server(-minutes(5));
  const Time lease_until = after(server(), seconds(30));  // another node's, or claim() in SQL
  EXPECT_GT(clock.at(now()).value(), lease_until);
  ask();  // the read that finds it
  EXPECT_LT(clock.at(now()).value(), lease_until);
}

}  // namespace
}  // namespace semel::stores
