// Caches in front of a store: the one in this process, the one in Redis, and the store that asks
// either of them first.
#include "stores/cache/caching_store.h"

#include <gtest/gtest.h>

#include <thread>

#include "engine/system_clock.h"
#include "stores/cache/local_cache.h"
#include "stores/memory_store.h"
#include "stores/redis/cache.h"
#include "stores/redis/layout.h"
#include "stores/redis_harness.h"
#include "stores/suite.h"

namespace semel::stores {
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

// As of now, by the clocks of this machine.
AnswerCache::Asked now(std::chrono::milliseconds ago = 0ms) {
  return {engine::SystemClock().now() - ago, std::chrono::steady_clock::now() - ago};
}

Time at() {
  return engine::SystemClock().now();
}

Record answer_of(std::uint64_t number, std::size_t body_bytes = 10) {
  Record record = completion_of(id_of(number), kThen + 24h);
  record.version = number + 1;
  record.answer.body.assign(body_bytes, 'x');
  return record;
}

TEST(LocalCache, GivesBackWhatWasKept) {
  LocalCache cache(1 << 20, 1h);
  EXPECT_EQ(run(cache.find(id_of(1), at())), nullptr);
  finish(cache.keep(answer_of(1), now()));
  EXPECT_EQ(value_of(run(cache.find(id_of(1), at()))), answer_of(1));
  finish(cache.drop({.id = id_of(1), .at = kThen + 1h}));
  EXPECT_EQ(run(cache.find(id_of(1), at())), nullptr);
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST(LocalCache, IsBoundedInBytesAndForgetsWhatWasUsedLeastRecently) {
  constexpr std::size_t kMax = 100'000;
  LocalCache cache(kMax, 1h);
  for (std::uint64_t n = 0; n < 8; ++n) finish(cache.keep(answer_of(n, 10'000), now()));
  EXPECT_TRUE(run(cache.find(id_of(0), at())));
  for (std::uint64_t n = 8; n < 12; ++n) finish(cache.keep(answer_of(n, 10'000), now()));
  EXPECT_LE(cache.bytes(), kMax);
  EXPECT_GT(cache.bytes(), kMax / 2);
  EXPECT_TRUE(run(cache.find(id_of(0), at())));
  EXPECT_FALSE(run(cache.find(id_of(1), at())));
  EXPECT_TRUE(run(cache.find(id_of(11), at())));
  finish(cache.keep(answer_of(20, kMax), now()));
  EXPECT_FALSE(run(cache.find(id_of(20), at()))) << "larger than all there is";
  EXPECT_TRUE(run(cache.find(id_of(11), at())));
}

TEST(LocalCache, NothingIsGivenForLongerThanItIsKept) {
  LocalCache cache(1 << 20, 0s);
  finish(cache.keep(answer_of(1), now()));
  EXPECT_EQ(run(cache.find(id_of(1), at())), nullptr);
}

TEST(LocalCache, ItsTimeCountsFromWhenTheStoreWasAsked) {
  LocalCache cache(1 << 20, 1h);
  finish(cache.keep(answer_of(1), now(61min)));
  EXPECT_EQ(run(cache.find(id_of(1), at())), nullptr);
}

TEST(LocalCache, AFillNeverReplacesWhatWasWrittenLater) {
  LocalCache cache(1 << 20, 1h);
  Record later = answer_of(1);
  later.updated_at += 1ms;
  later.answer.body = "later";
  finish(cache.keep(later, now()));
  finish(cache.keep(answer_of(1), now()));
  EXPECT_EQ(value_of(run(cache.find(id_of(1), at()))), later);
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
    found = value_of(run(cache.find(id, at())));
    if (found == wanted) break;
    std::this_thread::sleep_for(10ms);
  }
  return found;
}

void keep_until_there(RedisCache& cache, const Record& record) {
  // A cache that is slow for a moment is passed by, so that it counts once it was seen there.
  for (int i = 0; i < 500; ++i) {
    if (value_of(run(cache.find(record.id, at()))) == record) return;
    finish(cache.keep(record, now()));
    std::this_thread::sleep_for(10ms);
  }
  FAIL() << "it does not come to be there";
}

TEST(RedisCache, AFillNeverReplacesWhatWasWrittenLater) {
  const auto cache = open_cache();
  Record later = answer_of(1);
  later.updated_at += 1ms;
  later.version = 1;  // versions are in no order
  later.answer.body = "later";
  keep_until_there(*cache, later);
  finish(cache->keep(answer_of(1), now()));
  finish(cache->keep(answer_of(2), now()));
  EXPECT_EQ(find_soon(*cache, id_of(2), answer_of(2)), answer_of(2)) << "the fill before is done";
  EXPECT_EQ(value_of(run(cache->find(id_of(1), at()))), later);
  finish(cache->drop({.id = id_of(1), .at = kThen + 1h}));
  EXPECT_EQ(run(cache->find(id_of(1), at())), nullptr);
}

// A node that read the record before it was changed, and writes its copy after that.
TEST(RedisCache, AFillNeverBringsBackWhatIsOutdated) {
  const auto cache = open_cache();
  keep_until_there(*cache, answer_of(1));
  Record forgotten = answer_of(1);
  finish(cache->drop({.id = id_of(1), .at = forgotten.updated_at}));
  finish(cache->keep(forgotten, now()));
  finish(cache->keep(answer_of(2), now()));
  EXPECT_EQ(find_soon(*cache, id_of(2), answer_of(2)), answer_of(2)) << "the fill before is done";
  EXPECT_EQ(run(cache->find(id_of(1), at())), nullptr);
  Record next = answer_of(1);
  next.updated_at += 1ms;
  keep_until_there(*cache, next);
}

TEST(RedisCache, ThatItIsInProgressIsNeverSaidOverItsAnswer) {
  const auto cache = open_cache();
  Record running = claim_of(id_of(1));
  running.version = 1;
  finish(cache->keep(running, now()));
  Record answer = answer_of(1);
  answer.updated_at = running.updated_at;  // in the same millisecond
  keep_until_there(*cache, answer);
  finish(cache->keep(running, now()));
  finish(cache->keep(answer_of(2), now()));
  EXPECT_EQ(find_soon(*cache, id_of(2), answer_of(2)), answer_of(2)) << "the fill before is done";
  EXPECT_EQ(value_of(run(cache->find(id_of(1), at()))), answer);
}

TEST(RedisCache, ThatItIsInProgressIsSaidForAMomentOnly) {
  const auto cache = open_cache();
  Record running = claim_of(id_of(1));
  running.version = 1;
  finish(cache->keep(running, now()));
  keep_until_there(*cache, answer_of(2));
  const RedisAddress server = parse_redis_url(redis_config(RedisSetup::single).url)->address;
  const auto left = in_redis(server, {"PTTL", redis::cached_key(id_of(1))}).number();
  EXPECT_LE(left.value(), 250);
}

// A copy may be held up on its way, by a server that hangs for instance: that makes it no younger.
TEST(RedisCache, ItsTimeCountsFromWhenTheStoreWasAsked) {
  const auto cache = open_cache(1h);
  keep_until_there(*cache, answer_of(1));
  finish(cache->keep(answer_of(2), now(59min)));
  EXPECT_EQ(find_soon(*cache, id_of(2), answer_of(2)), answer_of(2));
  const RedisAddress server = parse_redis_url(redis_config(RedisSetup::single).url)->address;
  const auto left = in_redis(server, {"PTTL", redis::cached_key(id_of(2))}).number();
  EXPECT_LE(left.value(), 60'000);
  EXPECT_EQ(run(cache->find(id_of(2), at() + 1min)), nullptr);

  AnswerCache::Asked held_up{at() - 61min, std::chrono::steady_clock::now()};
  finish(cache->keep(answer_of(3), held_up));
  finish(cache->keep(answer_of(4), now()));
  EXPECT_EQ(find_soon(*cache, id_of(4), answer_of(4)), answer_of(4)) << "the fill before is done";
  EXPECT_EQ(in_redis(server, {"EXISTS", redis::cached_key(id_of(3))}).number(), 1);
  EXPECT_EQ(run(cache->find(id_of(3), at())), nullptr);
}

TEST(RedisCache, WhatWaitsForAServerThatHangsIsBounded) {
  const auto cache = open_cache();
  keep_until_there(*cache, answer_of(1));
  const RedisAddress server = parse_redis_url(redis_config(RedisSetup::single).url)->address;
  in_redis(server, {"CLIENT", "PAUSE", "60000", "WRITE"});
  for (std::uint64_t n = 10; n < 30; ++n) finish(cache->keep(answer_of(n, 1 << 20), now()));
  EXPECT_GT(cache->pending_bytes(), RedisCache::kPendingBytesMax / 2);
  for (std::uint64_t n = 0; n < 20'000; ++n) finish(cache->drop({.id = id_of(n), .at = kThen}));
  EXPECT_LE(cache->pending_bytes(), RedisCache::kPendingBytesMax);
  in_redis(server, {"CLIENT", "UNPAUSE"});
  for (int i = 0; i < 1000 && cache->pending_bytes() > 0; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(cache->pending_bytes(), 0u);
  keep_until_there(*cache, answer_of(1'000'000));
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
  for (const char* garbage : {"", "x", "\1aaaaaaaabbbbbbbbgarbage", "\2aaaaaaaa", "\2aaaaaaaa\1b",
                              "\2aaaaaaaa\1bbbbbbbbccccccccgarbage"}) {
    in_redis(server, {"SET", key, garbage});
    EXPECT_EQ(run(cache->find(id_of(1), at())), nullptr);
  }
}

TEST(RedisCache, AwayMeansNotThere) {
  RedisConfig config;
  config.url = "redis://127.0.0.1:1";
  const auto cache = RedisCache::open(config, 1h, [](const std::string&) {}).value();
  finish(cache->keep(answer_of(1), now()));
  finish(cache->drop({.id = id_of(1), .at = kThen + 1h}));
  EXPECT_EQ(run(cache->find(id_of(1), at())), nullptr);
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
    return run(store->swap(id, expected, shared(std::move(next))));
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
      std::holds_alternative<swap::Applied>(run(layered.below->swap(id, version, nullptr))));
  const SwapResult again = layered.swap(id, 0, claim_of(id));
  const auto& current = std::get<swap::Conflict>(again).current;
  ASSERT_TRUE(current);
  EXPECT_EQ(current->version, version);
  EXPECT_EQ(run(layered.store->read(id)).value(), nullptr) << "reads give the truth";
}

TEST(CachingStore, AConflictFillsTheCache) {
  Layered layered;
  const RecordId id = id_of(1);
  run(layered.below->swap(id, 0, shared(completion_of(id, kThen + 24h))));
  EXPECT_FALSE(run(layered.cache->find(id, at())));
  EXPECT_TRUE(std::holds_alternative<swap::Conflict>(layered.swap(id, 0, claim_of(id))));
  EXPECT_TRUE(run(layered.cache->find(id, at())));
}

TEST(CachingStore, OnlyWhatIsCompletedIsKept) {
  Layered layered;
  Record record = claim_of(id_of(1));
  Version version = layered.apply(record.id, 0, record);
  for (const RecordState state :
       {RecordState::in_progress, RecordState::queued, RecordState::unknown, RecordState::released,
        RecordState::tombstone}) {
    record.state = state;
    version = layered.apply(record.id, version, record);
    EXPECT_TRUE(std::holds_alternative<swap::Conflict>(layered.swap(record.id, 0, record)));
    EXPECT_FALSE(run(layered.cache->find(record.id, at()))) << to_string(state);
  }
}

TEST(CachingStore, WhatIsAboutToExpireIsAskedForBelow) {
  Layered layered;
  const RecordId id = id_of(1);
  // By the machine's clock: long gone.
  const Version version = layered.apply(id, 0, completion_of(id, Time(1h)));
  EXPECT_TRUE(run(layered.cache->find(id, at())));
  run(layered.below->swap(id, version, nullptr));
  EXPECT_TRUE(std::holds_alternative<swap::Applied>(layered.swap(id, 0, claim_of(id))));
}

// An entry that is out of date must not send a caller round in circles.
TEST(CachingStore, AnOutdatedEntryGoesWhenItIsContradicted) {
  Layered layered;
  const RecordId id = id_of(1);
  const Version version = layered.apply(id, 0, completion_of(id, kThen + 24h));
  run(layered.below->swap(id, version, nullptr));
  const SwapResult stale = layered.swap(id, 0, claim_of(id));
  EXPECT_EQ(std::get<swap::Conflict>(stale).current->version, version);
  const SwapResult truth = layered.swap(id, version, claim_of(id));
  EXPECT_EQ(std::get<swap::Conflict>(truth).current, nullptr);
  EXPECT_TRUE(std::holds_alternative<swap::Applied>(layered.swap(id, 0, claim_of(id))));
}

// Over Redis, and over a store that can be made to hold another truth.
struct Tiered {
  Tiered() {
    auto inner = std::make_unique<MemoryStore>();
    below = inner.get();
    auto copies = open_cache();
    cache = copies.get();
    keep_until_there(*cache, answer_of(99));  // it is connected
    store = std::make_unique<CachingStore>(std::move(inner), std::move(copies));
  }
  MemoryStore* below;
  RedisCache* cache;
  std::unique_ptr<CachingStore> store;

  Record begin(const RecordId& id, char token, Duration lease = 1h) {
    Record claim = claim_of(id);
    claim.token = {};
    claim.token.bytes[0] = static_cast<std::uint8_t>(token);
    claim.lease_until = at() + lease;
    claim.updated_at = at();
    return claim;
  }
  // Begun below, met by a duplicate, and then gone below: only the cache can know it now.
  void note(const Record& running) {
    const auto begun = run(below->swap(running.id, 0, shared(running)));
    const Version version = std::get<swap::Applied>(begun).version;
    EXPECT_TRUE(std::holds_alternative<swap::Conflict>(
        run(store->swap(running.id, 0, shared(begin(running.id, 'd'))))));
    run(below->swap(running.id, version, nullptr));
  }
};

TEST(Tiered, WhatADuplicateMetIsSaidToTheNextOneByTheCache) {
  Tiered tiered;
  for (std::uint64_t n = 1; n < 20; ++n) {  // it is said for a moment only, and machines are slow
    const RecordId id = id_of(n);
    const Record running = tiered.begin(id, 'a');
    tiered.note(running);
    const SwapResult early = run(tiered.store->swap(id, 0, shared(tiered.begin(id, 'b'))));
    const auto* conflict = std::get_if<swap::Conflict>(&early);
    if (!conflict) continue;
    ASSERT_TRUE(conflict->current);
    EXPECT_EQ(conflict->current->state, RecordState::in_progress);
    EXPECT_EQ(conflict->current->token, running.token);
    // Nothing can be written on the strength of it.
    const Version seen = conflict->current->version;
    const SwapResult taken = run(tiered.store->swap(id, seen, shared(tiered.begin(id, 'b'))));
    EXPECT_EQ(std::get<swap::Conflict>(taken).current, nullptr);
    EXPECT_EQ(run(tiered.below->read(id)).value(), nullptr);
    return;
  }
  FAIL() << "the cache never said so";
}

// The reply to it was lost: only the store that decides can say that it is ours.
TEST(Tiered, OnesOwnClaimIsNeverBelievedOnTheCachesWord) {
  Tiered tiered;
  const Record mine = tiered.begin(id_of(1), 'a');
  tiered.note(mine);
  EXPECT_TRUE(
      std::holds_alternative<swap::Applied>(run(tiered.store->swap(id_of(1), 0, shared(mine)))));
}

TEST(Tiered, ALeaseThatHasRunOutIsTheStoresToJudge) {
  Tiered tiered;
  tiered.note(tiered.begin(id_of(1), 'a', 30ms));
  std::this_thread::sleep_for(31ms);
  const SwapResult result =
      run(tiered.store->swap(id_of(1), 0, shared(tiered.begin(id_of(1), 'b'))));
  EXPECT_TRUE(std::holds_alternative<swap::Applied>(result));
}

// A duplicate that was held until the end must not be told again that it has not come.
TEST(Tiered, WhoeverWaitedForAClaimAsksTheTruthAfterwards) {
  Tiered tiered;
  const Record running = tiered.begin(id_of(1), 'a');
  tiered.note(running);
  run(tiered.store->ended(id_of(1), running.token, 1ms));
  const SwapResult result =
      run(tiered.store->swap(id_of(1), 0, shared(tiered.begin(id_of(1), 'b'))));
  EXPECT_TRUE(std::holds_alternative<swap::Applied>(result));
}

TEST(Tiered, TheAnswerTakesThePlaceOfTheNote) {
  Tiered tiered;
  const Record running = tiered.begin(id_of(1), 'a');
  const auto begun = run(tiered.store->swap(id_of(1), 0, shared(running)));
  run(tiered.store->swap(id_of(1), 0, shared(tiered.begin(id_of(1), 'b'))));
  Record done = completion_of(id_of(1), at() + 1h);
  done.updated_at = running.updated_at;
  run(tiered.store->swap(id_of(1), std::get<swap::Applied>(begun).version, shared(done)));
  const SwapResult next = run(tiered.store->swap(id_of(1), 0, shared(tiered.begin(id_of(1), 'b'))));
  EXPECT_EQ(std::get<swap::Conflict>(next).current->state, RecordState::completed);
}

}  // namespace
}  // namespace semel::stores
