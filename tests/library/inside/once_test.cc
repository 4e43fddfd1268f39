// Engine::once on every kind of store: one effect per key, whatever becomes of the function.
#include <thread>

#include "library/inside/stores.h"

namespace {
struct Order {
  int id;
  std::string state;
};
enum class Color { red, green };
}  // namespace

template <>
struct semel::Codec<Order> {
  static std::string encode(const Order& o) { return std::to_string(o.id) + ' ' + o.state; }
  static Order decode(const std::string& kept) {
    return {std::stoi(kept), kept.substr(kept.find(' ') + 1)};
  }
};

namespace semel {
namespace {

using namespace std::chrono_literals;

class Once : public testing::TestWithParam<std::string> {
 protected:
  Once() : engine(open(url())) {}
  std::string url() const {
    const std::string& kind = GetParam();
    if (kind == "memory") return "memory:";
    if (kind == "embedded") return folder_.url();
    if (kind == "postgres") return database();
    if (kind == "redis") return server("SEMEL_TEST_REDIS");
    return "tiered:" + database() + "," + server("SEMEL_TEST_REDIS");
  }
  Folder folder_;

 public:
  const Operation pay{"pay"};
  Engine engine;
};

// Stores that several engines may have open.
class OnceShared : public Once {};

INSTANTIATE_TEST_SUITE_P(Stores, OnceShared, testing::Values("postgres", "redis", "tiered"),
                         [](const auto& info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Stores, Once,
                         testing::Values("memory", "embedded", "postgres", "redis", "tiered"),
                         [](const auto& info) { return info.param; });

// Calls twice. Returns the second result, after checking that it is the first one's.
template <class T>
Result<T> twice(Engine& engine, const T& value) {
  const Call call{new_key()};
  int calls = 0;
  const auto work = [&] {
    ++calls;
    return value;
  };
  const Result<T> first = engine.once({"types"}, call, work);
  EXPECT_EQ(first.verdict(), Verdict::executed) << first.why();
  EXPECT_FALSE(first.replayed());
  Result<T> second = engine.once({"types"}, call, work);
  EXPECT_EQ(second.verdict(), Verdict::replayed) << second.why();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(first.record(), second.record());
  return second;
}

TEST_P(Once, ReplaysWhatWasReturned) {
  EXPECT_EQ(*twice<int>(engine, -42), -42);
  EXPECT_EQ(*twice<double>(engine, 0.1), 0.1);
  EXPECT_EQ(*twice<bool>(engine, true), true);
  EXPECT_EQ(*twice<std::string>(engine, std::string("a\0b", 3)), std::string("a\0b", 3));
  EXPECT_EQ(*twice<Color>(engine, Color::green), Color::green);
  EXPECT_EQ(*twice<std::optional<int>>(engine, std::nullopt), std::nullopt);
  EXPECT_EQ(*twice<std::optional<std::string>>(engine, ""), "");
  EXPECT_EQ(twice<Order>(engine, {7, "paid twice"})->state, "paid twice");
  const Answer answer{201, {{"Location", "/orders/7"}}, "made"};
  EXPECT_EQ(*twice<Answer>(engine, answer), answer);
}

TEST_P(Once, AFunctionMayReturnNothing) {
  const Call call{new_key()};
  int calls = 0;
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(engine.once(pay, call, [&] { ++calls; }));
  EXPECT_EQ(calls, 1);
}

TEST_P(Once, AnotherFingerprintIsAMismatch) {
  const std::string key = new_key();
  EXPECT_TRUE(engine.once(pay, {key, "7 EUR"}, [] { return 1; }));
  const auto other = engine.once(pay, {key, "8 EUR"}, [] { return 2; });
  EXPECT_EQ(other.verdict(), Verdict::mismatch);
  EXPECT_FALSE(other);
  EXPECT_THROW(other.value(), Refused);
  // Another tenant, another operation: another key.
  EXPECT_EQ(*engine.once(pay, {key, "8 EUR", "tenant"}, [] { return 2; }), 2);
  EXPECT_EQ(*engine.once({"refund"}, {key, "8 EUR"}, [] { return 3; }), 3);
}

TEST_P(Once, AFailureIsKept) {
  const Call call{new_key()};
  int calls = 0;
  const auto work = [&]() -> int {
    ++calls;
    throw Failure("card declined: \n", "the card was declined");
  };
  for (const Verdict verdict : {Verdict::executed, Verdict::replayed}) {
    const auto result = engine.once(pay, call, work);
    EXPECT_EQ(result.verdict(), verdict);
    EXPECT_FALSE(result);
    ASSERT_TRUE(result.failure());
    EXPECT_EQ(result.failure()->code, "card declined: \n");
    EXPECT_STREQ(result.failure()->what(), "the card was declined");
    EXPECT_THROW(result.value(), Failure);
  }
  EXPECT_EQ(calls, 1);
}

TEST_P(Once, RetryFreesTheKey) {
  const Call call{new_key()};
  const auto first = engine.once(pay, call, []() -> int { throw Retry("the bank is closed"); });
  EXPECT_EQ(first.verdict(), Verdict::released);
  EXPECT_EQ(first.why(), "the bank is closed");
  const auto second = engine.once(pay, call, [](const Claim& claim) { return claim.attempt; });
  EXPECT_EQ(second.verdict(), Verdict::executed);
  EXPECT_EQ(*second, 2u);
}

TEST_P(Once, AnExceptionPassesThroughAndIsUnknown) {
  const Call call{new_key()};
  const auto work = []() -> int { throw std::out_of_range("who knows"); };
  EXPECT_THROW(engine.once(pay, call, work), std::out_of_range);
  const auto again = engine.once(pay, call, [] { return 1; });
  EXPECT_EQ(again.verdict(), Verdict::unknown);
  EXPECT_NE(again.why().find("who knows"), std::string::npos) << again.why();
  bool listed = false;
  engine.each_unknown([&](const Engine::Entry& entry) {
    listed = listed || (entry.record == again.record() && entry.key == call.key);
    return true;
  });
  EXPECT_TRUE(listed);
  EXPECT_TRUE(engine.resolve(again.record(), Answer{200, {}, "5"}, "ann", "the bank has it"));
  const auto resolved = engine.once(pay, call, [] { return 1; });
  EXPECT_EQ(resolved.verdict(), Verdict::replayed);
  EXPECT_EQ(*resolved, 5);
  EXPECT_THROW(engine.resolve(again.record(), std::nullopt, "ann", "again"), Error);
  EXPECT_FALSE(engine.resolve(std::string(64, '0'), std::nullopt, "ann", "no such record"));
}

TEST_P(Once, AnExceptionOfAnUndoneFunctionFreesTheKey) {
  const Call call{new_key()};
  Operation transactional{"pay"};
  transactional.throws = Operation::Throws::undone;
  const auto work = []() -> int { throw 7; };
  EXPECT_THROW(engine.once(transactional, call, work), int);
  EXPECT_EQ(*engine.once(transactional, call, [] { return 1; }), 1);
}

TEST_P(Once, UnknownMayBeRetried) {
  const Call call{new_key()};
  Operation harmless{"look"};
  harmless.unknown = Operation::Unknown::retry;
  const auto work = []() -> int { throw std::runtime_error("lost"); };
  EXPECT_THROW(engine.once(harmless, call, work), std::runtime_error);
  EXPECT_EQ(*engine.once(harmless, call, [](const Claim& claim) { return claim.attempt; }), 2u);
}

TEST_P(Once, AnotherVersionOfTheAnswerIsExpired) {
  const Call call{new_key()};
  EXPECT_TRUE(engine.once(pay, call, [] { return 1; }));
  Operation newer = pay;
  newer.version = "2";
  EXPECT_EQ(engine.once(newer, call, [] { return 1; }).verdict(), Verdict::expired);
}

TEST_P(Once, ADuplicateIsBusyOrWaits) {
  const Call call{new_key()};
  Operation waits = pay;
  waits.wait = 30s;
  std::thread waiter;
  std::atomic<bool> asked = false;
  Verdict waited = Verdict::unavailable;
  const auto first = engine.once(pay, call, [&] {
    EXPECT_EQ(engine.once(pay, call, [] { return 2; }).verdict(), Verdict::busy);
    waiter = std::thread([&] {
      asked = true;
      const auto result = engine.once(waits, call, [] { return 3; });
      waited = result.verdict();
      EXPECT_EQ(*result, 1);
    });
    while (!asked) std::this_thread::yield();
    return 1;
  });
  waiter.join();
  EXPECT_EQ(*first, 1);
  EXPECT_EQ(waited, Verdict::replayed);
}

TEST_P(Once, ManyThreadsCauseOneEffectPerKey) {
  constexpr int kThreads = 64;
  constexpr int kKeys = 20;
  std::vector<std::string> keys;
  for (int i = 0; i < kKeys; ++i) keys.push_back(new_key());
  std::vector<std::atomic<int>> effects(kKeys);
  Operation waits = pay;
  waits.wait = 60s;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int at = 0; at < kKeys; ++at) {
        const int key = (at + i) % kKeys;
        const auto result = engine.once(waits, {keys[key]}, [&] { return ++effects[key]; });
        EXPECT_TRUE(result) << to_string(result.verdict()) << ' ' << result.why();
        if (result) EXPECT_EQ(*result, 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& count : effects) EXPECT_EQ(count, 1);
}

TEST_P(Once, DerivesOneKeyPerLabel) {
  const Call call{new_key()};
  std::string first;
  EXPECT_FALSE(engine.once(pay, call, [&](const Claim& claim) {
    first = claim.derive("charge");
    throw Retry("not now");
  }));
  const auto second =
      engine.once(pay, call, [](const Claim& claim) { return claim.derive("charge"); });
  EXPECT_EQ(*second, first);
  EXPECT_EQ(first.size(), 43u);
}

TEST_P(OnceShared, ASecondEngineWaitsForTheFirst) {
  Engine other = open(url());
  const Call call{new_key()};
  Operation waits = pay;
  waits.wait = 30s;
  std::thread waiter;
  std::atomic<bool> asked = false;
  engine.once(pay, call, [&] {
    waiter = std::thread([&] {
      asked = true;
      const auto result = other.once(waits, call, [] { return 2; });
      EXPECT_EQ(result.verdict(), Verdict::replayed);
      EXPECT_EQ(*result, 1);
    });
    while (!asked) std::this_thread::yield();
    return 1;
  });
  waiter.join();
}

TEST_P(OnceShared, AFailureThatCameTooLateIsNotTheReason) {
  Engine other = open(url());
  const Call call{new_key()};
  Operation slow = pay;
  slow.unknown = Operation::Unknown::retry;
  slow.lease = slow.max_execution = 1s;
  slow.wait = 30s;
  const auto late = engine.once(slow, call, [&]() -> std::string {
    EXPECT_EQ(other.once(slow, call, [] { return std::string("paid"); }).verdict(),
              Verdict::executed);
    throw Failure("declined", "the card was declined");
  });
  EXPECT_EQ(late.verdict(), Verdict::replayed) << late.why();
  EXPECT_EQ(late.failure(), nullptr);
  EXPECT_EQ(late.value(), "paid");
  EXPECT_NE(late.why().find("another attempt"), std::string::npos) << late.why();
}

TEST_P(Once, TellsOfEachCall) {
  std::vector<std::string> told;
  Options options;
  options.event = [&](const Event& event) {
    told.push_back(std::string(event.operation) + ' ' + std::string(to_string(event.verdict)));
  };
  Engine heard = GetParam() == "embedded" ? open("memory:", options) : open(url(), options);
  const Call call{new_key()};
  for (int i = 0; i < 2; ++i) heard.once(pay, call, [] { return 1; });
  EXPECT_THROW(heard.once(pay, {new_key()}, []() -> int { throw 1; }), int);
  EXPECT_EQ(told, (std::vector<std::string>{"pay executed", "pay replayed", "pay unknown"}));
}

TEST_P(Once, FindsARecord) {
  const Call call{new_key(), "", "ann"};
  EXPECT_FALSE(engine.find(pay, call));
  const auto made = engine.once(pay, call, [] { return 1; });
  const auto entry = engine.find(pay, call);
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->record, made.record());
  EXPECT_EQ(entry->state, "completed");
  EXPECT_EQ(entry->tenant, "ann");
  EXPECT_TRUE(engine.healthy());
}

}  // namespace
}  // namespace semel
