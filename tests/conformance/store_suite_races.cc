// Many callers at once, on several threads.
#include <algorithm>
#include <boost/asio/detached.hpp>
#include <latch>
#include <mutex>
#include <stdexcept>
#include <variant>

#include "store_suite.h"

namespace semel::conformance {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr int kThreads = 4;
constexpr int kCallersPerThread = 16;
constexpr int kCallers = kThreads * kCallersPerThread;

using Caller = std::function<asio::awaitable<void>(int caller)>;

// Runs 64 callers on 4 executors, all begun at the same time. What one of them throws fails the
// test.
void race(const Caller& caller) {
  std::latch start(kThreads);
  std::vector<std::unique_ptr<Beside>> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.push_back(std::make_unique<Beside>([&, thread](const std::stop_token&) {
      asio::io_context io(1);
      std::exception_ptr failed;
      for (int i = 0; i < kCallersPerThread; ++i) {
        asio::co_spawn(io, caller(thread * kCallersPerThread + i), [&](std::exception_ptr thrown) {
          if (thrown) failed = thrown;
        });
      }
      start.arrive_and_wait();
      io.run();
      if (failed) std::rethrow_exception(failed);
    }));
  }
}

// A store that answers Busy or Conflict for ever is given up on.
class Patience {
 public:
  void spend() const {
    if (std::chrono::steady_clock::now() > end_)
      throw std::runtime_error("no swap is ever Applied");
  }

 private:
  const std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + 60s;
};

const Record& current_of(const SwapResult& result) {
  const auto* conflict = std::get_if<swap::Conflict>(&result);
  if (!conflict) throw std::runtime_error("the store returned " + describe(result));
  if (!conflict->current) throw std::runtime_error("a Conflict without the record that is there");
  return *conflict->current;
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
  for (const Patience patience; std::holds_alternative<swap::Busy>(result); patience.spend()) {
    result = co_await store.swap(id, 0, shared(mine));
  }
  const std::lock_guard lock(tally.mutex);
  if (const auto* applied = std::get_if<swap::Applied>(&result)) {
    tally.winners.emplace_back(caller, applied->version);
  } else {
    tally.truths.push_back(current_of(result));
  }
}

// Adds one to the record's attempt, as often as it takes.
asio::awaitable<void> add_one(Store& store, RecordId id) {
  auto found = co_await store.read(id);
  if (!found || !*found) throw std::runtime_error("read: the record cannot be read");
  Record current = **found;
  for (const Patience patience;; patience.spend()) {
    Record next = current;
    const Version expected = next.version;
    ++next.attempt;
    SwapResult result = co_await store.swap(id, expected, shared(std::move(next)));
    if (std::holds_alternative<swap::Applied>(result)) co_return;
    if (std::holds_alternative<swap::Busy>(result)) continue;
    current = current_of(result);
  }
}

}  // namespace

TEST_P(StoreSuite, OfManyClaimsOneWins) {
  promise(
      "Of many swaps at once that expect the same version, one is Applied; all others are "
      "a Conflict that brings the winner's record.");
  for (std::uint64_t round = 0; round < 20; ++round) {
    const RecordId id = id_of(round);
    Tally tally;
    race([&](int caller) { return claim_once(store(), id, caller, tally); });
    ASSERT_EQ(tally.winners.size(), 1);
    const auto [winner, version] = tally.winners.front();
    Record truth = claim_of(id);
    truth.attempt = static_cast<std::uint32_t>(winner);
    truth.version = version;
    EXPECT_EQ(tally.truths.size(), kCallers - 1);
    for (const Record& found : tally.truths) EXPECT_EQ(difference(found, truth), "");
    EXPECT_EQ(difference(read(id), truth), "");
  }
}

TEST_P(StoreSuite, NoUpdateIsLost) {
  promise("No update is lost among many callers that read and swap the same record.");
  Record counter = claim_of(id_of(1));
  counter.attempt = 0;
  apply(counter.id, 0, counter);
  race([&](int) { return add_one(store(), counter.id); });
  EXPECT_EQ(existing(counter.id).attempt, kCallers);
}

TEST_P(StoreSuite, CallersWithKeysOfTheirOwnAllSucceed) {
  promise("Swaps of different records at once do not disturb each other.");
  Tally tally;
  race([&](int caller) {
    return claim_once(store(), id_of(static_cast<std::uint64_t>(caller)), caller, tally);
  });
  ASSERT_EQ(tally.winners.size(), kCallers);
  std::vector<Version> versions;
  for (const auto& [caller, version] : tally.winners) {
    versions.push_back(version);
    EXPECT_EQ(existing(id_of(static_cast<std::uint64_t>(caller))).version, version);
  }
  EXPECT_EQ(scan(10).size(), kCallers);
}

TEST_P(StoreSuite, EveryCallResumesOnItsCallersExecutor) {
  promise("Every call resumes on the executor of its caller.");
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
    co_await store().put_chunk(id, Token{}, 0, "x");
    resumed_here += io.get_executor().running_in_this_thread();
    co_await store().get_chunk(id, Token{}, 0);
    resumed_here += io.get_executor().running_in_this_thread();
    co_await store().drop_chunks(id, Token{});
    resumed_here += io.get_executor().running_in_this_thread();
  };
  asio::co_spawn(io, calls(), asio::detached);
  io.run();
  EXPECT_EQ(resumed_here, 8);
}

}  // namespace semel::conformance
