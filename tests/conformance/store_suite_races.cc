// Many callers at once, on several threads.
#include <algorithm>
#include <atomic>
#include <boost/asio/detached.hpp>
#include <latch>
#include <mutex>
#include <thread>
#include <variant>

#include "conformance/store_suite.h"

namespace semel {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr int kThreads = 4;
constexpr int kCallersPerThread = 16;
constexpr int kCallers = kThreads * kCallersPerThread;

using Caller = std::function<asio::awaitable<void>(int caller)>;

// Runs 64 callers on 4 executors, all begun at the same time.
void race(const Caller& caller) {
  std::latch start(kThreads);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      asio::io_context io(1);
      for (int i = 0; i < kCallersPerThread; ++i) {
        asio::co_spawn(io, caller(thread * kCallersPerThread + i), [](std::exception_ptr failed) {
          if (failed) std::rethrow_exception(failed);
        });
      }
      start.arrive_and_wait();
      io.run();
    });
  }
}

struct Tally {
  std::mutex mutex;
  std::vector<std::pair<int, Version>> winners;
  std::vector<Record> truths;
};

asio::awaitable<void> claim_once(Store& store, RecordId id, int caller, Tally& tally) {
  Record mine = claim_of(id);
  mine.attempt = static_cast<std::uint32_t>(caller);
  SwapResult result = co_await store.swap(id, 0, shared(mine));
  // Another's transaction held the record for too long: nothing was written.
  while (std::holds_alternative<swap::Busy>(result))
    result = co_await store.swap(id, 0, shared(mine));
  const std::lock_guard lock(tally.mutex);
  if (const auto* applied = std::get_if<swap::Applied>(&result)) {
    tally.winners.emplace_back(caller, applied->version);
  } else {
    tally.truths.push_back(*std::get<swap::Conflict>(result).current);
  }
}

// Adds one to the record's attempt, as often as it takes.
asio::awaitable<void> add_one(Store& store, RecordId id) {
  auto found = co_await store.read(id);
  RecordPtr current = found.value();
  for (;;) {
    Record next = *current;
    const Version expected = next.version;
    ++next.attempt;
    SwapResult result = co_await store.swap(id, expected, shared(std::move(next)));
    if (std::holds_alternative<swap::Applied>(result)) co_return;
    if (std::holds_alternative<swap::Busy>(result)) continue;
    current = std::get<swap::Conflict>(std::move(result)).current;
  }
}

}  // namespace

TEST_P(StoreSuite, OfManyClaimsOneWins) {
  for (std::uint64_t round = 0; round < 20; ++round) {
    const RecordId id = id_of(round);
    Tally tally;
    race([&](int caller) { return claim_once(store(), id, caller, tally); });
    ASSERT_EQ(tally.winners.size(), 1);
    const auto [winner, version] = tally.winners.front();
    Record truth = claim_of(id);
    truth.attempt = static_cast<std::uint32_t>(winner);
    truth.version = version;
    EXPECT_EQ(tally.truths, std::vector<Record>(kCallers - 1, truth));
    EXPECT_EQ(read(id), truth);
  }
}

TEST_P(StoreSuite, NoUpdateIsLost) {
  Record counter = claim_of(id_of(1));
  counter.attempt = 0;
  apply(counter.id, 0, counter);
  race([&](int) { return add_one(store(), counter.id); });
  EXPECT_EQ(read(counter.id)->attempt, kCallers);
}

TEST_P(StoreSuite, CallersWithKeysOfTheirOwnAllSucceed) {
  Tally tally;
  race([&](int caller) {
    return claim_once(store(), id_of(static_cast<std::uint64_t>(caller)), caller, tally);
  });
  ASSERT_EQ(tally.winners.size(), kCallers);
  std::vector<Version> versions;
  for (const auto& [caller, version] : tally.winners) {
    versions.push_back(version);
    EXPECT_EQ(read(id_of(static_cast<std::uint64_t>(caller)))->version, version);
  }
  EXPECT_EQ(scan(10).size(), kCallers);
}

TEST_P(StoreSuite, EveryCallResumesOnItsCallersExecutor) {
  asio::io_context io(1);
  int resumed_here = 0;
  auto calls = [&]() -> asio::awaitable<void> {
    const RecordId id = id_of(1);
    const Record claim = claim_of(id);
    co_await store().swap(id, 0, shared(claim));
    resumed_here += io.get_executor().running_in_this_thread();
    co_await store().swap(id, 0, shared(claim));
    resumed_here += io.get_executor().running_in_this_thread();
    co_await store().read(id);
    resumed_here += io.get_executor().running_in_this_thread();
    co_await store().sweep(kNever, 1);
    resumed_here += io.get_executor().running_in_this_thread();
    co_await store().scan(std::nullopt, 1);
    resumed_here += io.get_executor().running_in_this_thread();
  };
  asio::co_spawn(io, calls(), asio::detached);
  io.run();
  EXPECT_EQ(resumed_here, 5);
}

}  // namespace semel
