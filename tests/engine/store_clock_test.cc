// The engine goes by the store's clock, if there is a store that has one.
#include "engine/store_clock.h"

#include <gtest/gtest.h>

#include "support/plain_store.h"

namespace semel::engine {
namespace {

using namespace support;

TEST(StoreClock, TheTimeIsTheStoresWhileThereIsAStore) {
  boost::asio::io_context io{1};
  VirtualTime time{io};
  VirtualClock machine{time, 0};
  auto store = std::make_unique<PlainStore>(time);
  StoreClock clock(machine, *store);
  EXPECT_EQ(clock.now(), machine.now());
  const Time ahead = after(machine.now(), std::chrono::hours(1));
  store->set_now(ahead);
  EXPECT_EQ(clock.now(), ahead);
  // As when a server ends: its store goes first, and what still waits is unwound after it.
  clock.let_go();
  store.reset();
  EXPECT_EQ(clock.now(), machine.now());
}

}  // namespace
}  // namespace semel::engine
