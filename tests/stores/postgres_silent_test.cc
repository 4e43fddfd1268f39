// A connection that has gone silent, among others that have not.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "stores/postgres_fixture.h"

namespace semel::stores {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kSentAtOnce = 64;
constexpr std::uint64_t kEnough = 8;  // to hold up one that is ready
constexpr int kTriesMax = 30;
constexpr auto kHeldUp = 4s;  // what was sent over the silent connection is given up after five

TEST_F(PostgresStoreTest, ASilentConnectionHoldsUpOnlyWhatWasSentOverIt) {
  close();
  const auto mine = open_postgres_or_throw({.url = postgres_url(), .connections = 2});
  const postgres::PgRows backends = in_postgres(
      "SELECT pid::bigint FROM pg_stat_activity WHERE application_name = 'semel' AND "
      "pid <> pg_backend_pid()");
  ASSERT_GE(backends.size(), 2);
  std::uint64_t next = 0;
  std::uint64_t most_stuck = 0;
  // Nobody says which connection gets how much: it is tried until one has had enough.
  for (int n = 0; n < kTriesMax && most_stuck < kEnough; ++n) {
    const auto backend = static_cast<pid_t>(backends.number(n % backends.size(), 0));
    boost::asio::io_context io(1);
    std::uint64_t ended = 0;
    bool went_through = false;
    auto one = [&](RecordId id) -> boost::asio::awaitable<void> {
      const SwapResult result = co_await mine->swap(id, 0, shared(claim_of(id)));
      EXPECT_TRUE(std::holds_alternative<swap::Applied>(result));
      ++ended;
    };
    auto last = [&](RecordId id) -> boost::asio::awaitable<void> {
      co_await one(id);
      went_through = true;
    };
    ASSERT_EQ(kill(backend, SIGSTOP), 0);
    for (std::uint64_t i = 0; i < kSentAtOnce; ++i) {
      boost::asio::co_spawn(io, one(id_of(next++)), boost::asio::detached);
    }
    io.run_for(300ms);  // those that can end have
    const std::uint64_t before = ended;
    io.restart();
    boost::asio::co_spawn(io, last(id_of(next++)), boost::asio::detached);
    const auto give_up = std::chrono::steady_clock::now() + kHeldUp;
    while (!went_through && io.run_one_until(give_up) > 0) {
    }
    const bool in_time = went_through;
    ASSERT_EQ(kill(backend, SIGCONT), 0);
    io.restart();
    io.run();
    EXPECT_EQ(ended, kSentAtOnce + 1);
    const std::uint64_t stuck = kSentAtOnce - before;
    most_stuck = std::max(most_stuck, stuck);
    // One that carries nothing yet may be taken for any other.
    if (stuck > 0) EXPECT_TRUE(in_time) << stuck << " were on the silent connection";
  }
  EXPECT_GE(most_stuck, kEnough);
}

}  // namespace
}  // namespace semel::stores
