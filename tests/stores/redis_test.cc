// Properties of the Redis store alone: key layout, how long records stay, what errors mean.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "stores/redis/cluster.h"
#include "stores/redis/health.h"
#include "stores/redis/layout.h"
#include "stores/redis_harness.h"

namespace semel::stores {
namespace {

using namespace std::chrono_literals;

RedisAddress server() {
  return parse_redis_url(redis_config(RedisSetup::single).url)->address;
}

std::unique_ptr<Store> open_empty() {
  empty_redis(redis_config(RedisSetup::single));
  return open_redis_or_throw(redis_config(RedisSetup::single));
}

// If a bucket's slot were wrong, MOVED would hide it, at the price of a round trip each time.
TEST(RedisLayout, ABucketIsInTheSlotThatTheServerSays) {
  const RedisAddress member = redis_config(RedisSetup::cluster).cluster.front();
  for (const int bucket : {0, 1, 15, 16, 127, 255}) {
    RecordId id = id_of(1);
    id.bytes[0] = static_cast<std::uint8_t>(bucket);
    for (const std::string& key :
         {redis::record_key(id), redis::due_key(redis::bucket_of(id)), redis::waiting_key(id),
          redis::chunks_key(id, Token{}), redis::channel(redis::bucket_of(id))}) {
      EXPECT_EQ(in_redis(member, {"CLUSTER", "KEYSLOT", key}).number(),
                redis::slot_of(redis::bucket_of(id)))
          << key;
    }
  }
}

constexpr redis::Instant instant(Duration wall, Duration steady) {
  return {.wall = kThen + wall, .steady = SteadyTime(steady)};
}

TEST(RedisHealth, WhatTheRoundTripLeavesOpenCountsAsEqual) {
  const redis::Instant asked = instant(0s, 100s);
  const SteadyTime answered(103s);
  for (const Duration theirs : {0ms, 1500ms, 3000ms}) {
    EXPECT_EQ(redis::ServerClock(asked, answered, kThen + theirs).ahead(asked), 0ms);
  }
  EXPECT_EQ(redis::ServerClock(asked, answered, kThen - 10s).ahead(asked), 10s);
  EXPECT_EQ(redis::ServerClock(asked, answered, kThen + 10s).ahead(asked), -7s);
}

TEST(RedisHealth, AStepOfOurOwnClockShowsWithoutAsking) {
  const redis::ServerClock clock(instant(0s, 100s), SteadyTime(100s), kThen);
  EXPECT_EQ(clock.ahead(instant(60s, 160s)), 0ms) << "a minute has passed";
  EXPECT_EQ(clock.ahead(instant(72h, 101s)), 72h - 1s) << "somebody set it";
  EXPECT_EQ(clock.ahead(instant(-1h, 101s)), -1h - 1s);
}

TEST(RedisHealth, LengthsInWords) {
  EXPECT_EQ(redis::in_words(72h - 1ms), "3 days");
  EXPECT_EQ(redis::in_words(-24h), "24 hours");
  EXPECT_EQ(redis::in_words(140s), "2 minutes");
  EXPECT_EQ(redis::in_words(2100ms), "2 seconds");
  EXPECT_EQ(redis::in_words(1400ms), "1400 ms");
}

TEST(RedisLayout, WhatCannotBeReadIsNeverAbsent) {
  const std::string good = redis::to_value(claim_of(id_of(1)), 7);
  ASSERT_TRUE(redis::from_value(id_of(1), good));
  std::string other_format = good;
  other_format[0] = 9;
  std::string flipped = good;
  flipped.back() = static_cast<char>(~flipped.back());
  for (const std::string& bad : {std::string("x"), good.substr(0, 20), other_format, flipped}) {
    const auto record = redis::from_value(id_of(1), bad);
    ASSERT_FALSE(record);
    EXPECT_TRUE(record.error().unreadable);
  }
}

TEST(RedisCluster, Redirections) {
  const RedisAddress asked{"10.0.0.1", 7000};
  const auto moved = redis::redirect_of("MOVED 3999 10.0.0.2:6381", asked);
  ASSERT_TRUE(moved);
  EXPECT_TRUE(moved->is_permanent);
  EXPECT_EQ(moved->slot, 3999);
  EXPECT_EQ(moved->to, (RedisAddress{"10.0.0.2", 6381}));
  const auto ask = redis::redirect_of("ASK 1 ::1:6381", asked);
  ASSERT_TRUE(ask);
  EXPECT_FALSE(ask->is_permanent);
  EXPECT_EQ(ask->to, (RedisAddress{"::1", 6381}));
  EXPECT_EQ(redis::redirect_of("MOVED 1 :6381", asked)->to, (RedisAddress{"10.0.0.1", 6381}));
  for (const char* other : {"MOVED", "MOVED x a:1", "MOVED 1 a", "MOVED 1 a:b", "ERR no"}) {
    EXPECT_FALSE(redis::redirect_of(other, asked)) << other;
  }
}

TEST(RedisStoreErrors, ARefusedWriteIsUnavailableAndChangesNothing) {
  const auto store = open_empty();
  const RecordId id = id_of(1);
  in_redis(server(), {"CONFIG", "SET", "maxmemory", "1"});
  const SwapResult refused = run(store->swap(id, 0, shared(claim_of(id))));
  in_redis(server(), {"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(std::holds_alternative<StoreUnavailable>(refused));
  EXPECT_EQ(run(store->read(id)).value(), nullptr);
  EXPECT_TRUE(run(store->scan(std::nullopt, 10))->records.empty());
}

TEST(RedisStoreErrors, RecordsThatCannotBeReadKeepNoOtherFromItsTurn) {
  constexpr std::uint64_t kDamaged = 300;
  constexpr std::size_t kBatch = 16;
  empty_redis(redis_config(RedisSetup::single));
  std::vector<std::string> told;
  const auto told_of = [&told](std::string_view call, const std::string& why) {
    told.push_back(std::string(call) + ": " + why);
  };
  const auto opened = open_redis_store(redis_config(RedisSetup::single), {}, {}, told_of);
  ASSERT_TRUE(opened) << opened.error();
  Store& store = **opened;
  for (std::uint64_t n = 0; n <= kDamaged; ++n) {
    Record lapsed = claim_of(id_of(n));
    lapsed.lease_until = kThen - (n < kDamaged ? 2h : 1h);
    ASSERT_TRUE(std::holds_alternative<swap::Applied>(
        run(store.swap(lapsed.id, 0, shared(std::move(lapsed))))));
    if (n < kDamaged) in_redis(server(), {"SET", redis::record_key(id_of(n)), "x"});
  }
  // A sweep looks for a limited time; the next one goes on where it stopped.
  constexpr int kSweepsMax = 20;
  auto due = run(store.sweep(kThen, kBatch));
  for (int i = 1; i < kSweepsMax && due && due->empty(); ++i) {
    due = run(store.sweep(kThen, kBatch));
  }
  ASSERT_TRUE(due);
  ASSERT_EQ(due->size(), 1);
  EXPECT_EQ(due->front()->id, id_of(kDamaged));
  EXPECT_TRUE(run(store.read(id_of(0))).error().unreadable);
  ASSERT_FALSE(told.empty());
  EXPECT_TRUE(told.front().starts_with("sweep: Redis: due records that cannot be read"));
}

// An error from the middle of a script leaves what was written before it.
TEST(RedisStoreErrors, AnErrorOfUnknownMeaningIsOfUnknownFate) {
  const auto store = open_empty();
  const RecordId id = id_of(1);
  in_redis(server(), {"SET", redis::due_key(redis::bucket_of(id)), "no sorted set"});
  EXPECT_TRUE(std::holds_alternative<swap::Unknown>(run(store->swap(id, 0, shared(claim_of(id))))));
  in_redis(server(), {"DEL", redis::due_key(redis::bucket_of(id))});
}

TEST(RedisStoreErrors, AReplyThatIsLostMakesTheFateUnknown) {
  const auto store = open_empty();
  const RecordId id = id_of(1);
  in_redis(server(), {"CLIENT", "PAUSE", "60000", "WRITE"});
  auto swapped =
      std::async(std::launch::async, [&] { return run(store->swap(id, 0, shared(claim_of(id)))); });
  const auto is_postponed = [] {
    const resp::RespReply info = in_redis(server(), {"INFO", "clients"});
    return info.text().find("blocked_clients:0") == std::string_view::npos;
  };
  for (int i = 0; i < 500 && !is_postponed(); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(is_postponed());
  in_redis(server(), {"CLIENT", "KILL", "TYPE", "normal"});
  EXPECT_TRUE(std::holds_alternative<swap::Unknown>(swapped.get()));
  in_redis(server(), {"CLIENT", "UNPAUSE"});
  // It connects again by itself, and a second try tells.
  SwapResult again = run(store->swap(id, 0, shared(claim_of(id))));
  for (int i = 0; i < 500 && std::holds_alternative<StoreUnavailable>(again); ++i) {
    std::this_thread::sleep_for(10ms);
    again = run(store->swap(id, 0, shared(claim_of(id))));
  }
  EXPECT_TRUE(std::holds_alternative<swap::Applied>(again));
  EXPECT_EQ(store->trouble(), std::nullopt);
}

}  // namespace
}  // namespace semel::stores
