// What lies in front of a store: the cache in this process, the one in Redis, and the store that
// asks either first.
#include "stores/caching.h"

#include <gtest/gtest.h>

#include <thread>

#include "stores/local_cache.h"
#include "stores/memory.h"
#include "stores/redis_cache.h"
#include "stores/redis_harness.h"
#include "stores/redis_layout.h"
#include "stores/store_suite.h"

namespace semel {
namespace {

using namespace std::chrono_literals;

// co_await gives nothing here, and run() wants a value.
template <typename Work>
bool finish(Work work) {
  auto all = [&]() -> boost::asio::awaitable<bool> {
    co_await std::move(work);
    co_return true;
  };
  return run(all());
}

Record answer_of(std::uint64_t number, std::size_t body_bytes = 10) {
  Record record = completion_of(id_of(number), kThen + 24h);
  record.version = number + 1;
  record.answer.body.assign(body_bytes, 'x');
  return record;
}

TEST(LocalCache, GivesBackWhatWasKept) {
  LocalCache cache(1 << 20, 1h);
  EXPECT_EQ(run(cache.find(id_of(1))), std::nullopt);
  finish(cache.keep(answer_of(1)));
  EXPECT_EQ(run(cache.find(id_of(1))), answer_of(1));
  finish(cache.drop(id_of(1)));
  EXPECT_EQ(run(cache.find(id_of(1))), std::nullopt);
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST(LocalCache, IsBoundedInBytesAndForgetsWhatWasUsedLeastRecently) {
  constexpr std::size_t kMax = 100'000;
  LocalCache cache(kMax, 1h);
  for (std::uint64_t n = 0; n < 8; ++n) finish(cache.keep(answer_of(n, 10'000)));
  EXPECT_TRUE(run(cache.find(id_of(0))));
  for (std::uint64_t n = 8; n < 12; ++n) finish(cache.keep(answer_of(n, 10'000)));
  EXPECT_LE(cache.bytes(), kMax);
  EXPECT_GT(cache.bytes(), kMax / 2);
  EXPECT_TRUE(run(cache.find(id_of(0))));
  EXPECT_FALSE(run(cache.find(id_of(1))));
  EXPECT_TRUE(run(cache.find(id_of(11))));
  finish(cache.keep(answer_of(20, kMax)));
  EXPECT_FALSE(run(cache.find(id_of(20)))) << "larger than all there is";
  EXPECT_TRUE(run(cache.find(id_of(11))));
}

TEST(LocalCache, NothingIsGivenForLongerThanItIsKept) {
  LocalCache cache(1 << 20, 0s);
  finish(cache.keep(answer_of(1)));
  EXPECT_EQ(run(cache.find(id_of(1))), std::nullopt);
}

TEST(LocalCache, AFillNeverReplacesWhatWasWrittenLater) {
  LocalCache cache(1 << 20, 1h);
  Record later = answer_of(1);
  later.updated_at += 1ms;
  later.answer.body = "later";
  finish(cache.keep(later));
  finish(cache.keep(answer_of(1)));
  EXPECT_EQ(run(cache.find(id_of(1))), later);
}

std::unique_ptr<RedisCache> open_cache(Duration kept_for = 1h) {
  auto config = redis_config(RedisSetup::single);
  empty_redis(config);
  return RedisCache::open(config, kept_for, [](const std::string&) {}).value();
}

// keep() and drop() only begin, and the first connection takes its time.
std::optional<Record> find_soon(RedisCache& cache, const RecordId& id,
                                const std::optional<Record>& wanted) {
  std::optional<Record> found;
  for (int i = 0; i < 500; ++i) {
    found = run(cache.find(id));
    if (found == wanted) break;
    std::this_thread::sleep_for(10ms);
  }
  return found;
}

void keep_until_there(RedisCache& cache, const Record& record) {
  for (int i = 0; i < 500 && run(cache.find(record.id)) != record; ++i) {
    finish(cache.keep(record));
    std::this_thread::sleep_for(10ms);
  }
  ASSERT_EQ(run(cache.find(record.id)), record);
}

TEST(RedisCache, AFillNeverReplacesWhatWasWrittenLater) {
  const auto cache = open_cache();
  Record later = answer_of(1);
  later.updated_at += 1ms;
  later.version = 1;  // versions are in no order
  later.answer.body = "later";
  keep_until_there(*cache, later);
  finish(cache->keep(answer_of(1)));
  finish(cache->keep(answer_of(2)));
  EXPECT_EQ(find_soon(*cache, id_of(2), answer_of(2)), answer_of(2)) << "the fill before is done";
  EXPECT_EQ(run(cache->find(id_of(1))), later);
  finish(cache->drop(id_of(1)));
  EXPECT_EQ(run(cache->find(id_of(1))), std::nullopt);
}

TEST(RedisCache, WhatItKeepsEndsByItself) {
  const auto cache = open_cache(60s);
  keep_until_there(*cache, answer_of(1));
  const RedisAddress server = parse_redis_url(redis_config(RedisSetup::single).url)->address;
  const auto left = in_redis(server, {"PTTL", redis::cached_key(id_of(1))}).number();
  ASSERT_TRUE(left);
  EXPECT_GT(*left, 0);
  EXPECT_LE(*left, 60'000);
}

TEST(RedisCache, WhatCannotBeReadIsNotThere) {
  const auto cache = open_cache();
  keep_until_there(*cache, answer_of(1));
  const RedisAddress server = parse_redis_url(redis_config(RedisSetup::single).url)->address;
  const std::string key = redis::cached_key(id_of(1));
  for (const char* garbage : {"", "x", "\1aaaaaaaabbbbbbbbgarbage"}) {
    in_redis(server, {"SET", key, garbage});
    EXPECT_EQ(run(cache->find(id_of(1))), std::nullopt);
  }
}

TEST(RedisCache, AwayMeansNotThere) {
  RedisConfig config;
  config.url = "redis://127.0.0.1:1";
  const auto cache = RedisCache::open(config, 1h, [](const std::string&) {}).value();
  finish(cache->keep(answer_of(1)));
  finish(cache->drop(id_of(1)));
  EXPECT_EQ(run(cache->find(id_of(1))), std::nullopt);
}

// Counts what comes through, and can be made to hold another truth than its cache.
struct Layered {
  Layered() {
    auto inner = std::make_unique<MemoryStore>();
    below = inner.get();
    auto local = std::make_unique<LocalCache>(1 << 20, 1h);
    cache = local.get();
    store = std::make_unique<CachingStore>(std::move(inner), std::move(local));
  }
  MemoryStore* below;
  LocalCache* cache;
  std::unique_ptr<CachingStore> store;

  SwapResult swap(const RecordId& id, Version expected, std::optional<Record> next) {
    return run(store->swap(id, expected, std::move(next)));
  }
  Version apply(const RecordId& id, Version expected, std::optional<Record> next) {
    return std::get<swap::Applied>(swap(id, expected, std::move(next))).version;
  }
};

TEST(CachingStore, AClaimOfWhatIsKnownAsCompletedIsAConflictAtOnce) {
  Layered layered;
  const RecordId id = id_of(1);
  const Version version =
      layered.apply(id, layered.apply(id, 0, claim_of(id)), completion_of(id, kThen + 24h));
  // Taken out below: only the cache can know it now.
  ASSERT_TRUE(
      std::holds_alternative<swap::Applied>(run(layered.below->swap(id, version, std::nullopt))));
  const SwapResult again = layered.swap(id, 0, claim_of(id));
  const auto& current = std::get<swap::Conflict>(again).current;
  ASSERT_TRUE(current);
  EXPECT_EQ(current->version, version);
  EXPECT_EQ(run(layered.store->read(id)).value(), std::nullopt) << "reads give the truth";
}

TEST(CachingStore, AConflictFillsTheCache) {
  Layered layered;
  const RecordId id = id_of(1);
  run(layered.below->swap(id, 0, completion_of(id, kThen + 24h)));
  EXPECT_FALSE(run(layered.cache->find(id)));
  EXPECT_TRUE(std::holds_alternative<swap::Conflict>(layered.swap(id, 0, claim_of(id))));
  EXPECT_TRUE(run(layered.cache->find(id)));
}

TEST(CachingStore, OnlyWhatIsCompletedIsKept) {
  Layered layered;
  Record record = claim_of(id_of(1));
  Version version = layered.apply(record.id, 0, record);
  for (const State state :
       {State::in_progress, State::queued, State::unknown, State::released, State::tombstone}) {
    record.state = state;
    version = layered.apply(record.id, version, record);
    EXPECT_TRUE(std::holds_alternative<swap::Conflict>(layered.swap(record.id, 0, record)));
    EXPECT_FALSE(run(layered.cache->find(record.id))) << to_string(state);
  }
}

TEST(CachingStore, WhatIsAboutToExpireIsAskedForBelow) {
  Layered layered;
  const RecordId id = id_of(1);
  // By the machine's clock: long gone.
  const Version version = layered.apply(id, 0, completion_of(id, Time(1h)));
  EXPECT_TRUE(run(layered.cache->find(id)));
  run(layered.below->swap(id, version, std::nullopt));
  EXPECT_TRUE(std::holds_alternative<swap::Applied>(layered.swap(id, 0, claim_of(id))));
}

// An entry that is out of date must not send a caller round in circles.
TEST(CachingStore, AnOutdatedEntryGoesWhenItIsContradicted) {
  Layered layered;
  const RecordId id = id_of(1);
  const Version version = layered.apply(id, 0, completion_of(id, kThen + 24h));
  run(layered.below->swap(id, version, std::nullopt));
  const SwapResult stale = layered.swap(id, 0, claim_of(id));
  EXPECT_EQ(std::get<swap::Conflict>(stale).current->version, version);
  const SwapResult truth = layered.swap(id, version, claim_of(id));
  EXPECT_EQ(std::get<swap::Conflict>(truth).current, std::nullopt);
  EXPECT_TRUE(std::holds_alternative<swap::Applied>(layered.swap(id, 0, claim_of(id))));
}

}  // namespace
}  // namespace semel
