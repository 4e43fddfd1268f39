// begin, finish, release and leave, and what becomes of an execution that nobody ends.
#include <future>
#include <thread>

#include "library/inside/stores.h"

namespace semel {
namespace {

using namespace std::chrono_literals;

const Operation kProvision{"provision"};

Execution begun(Engine& engine, const Call& call) {
  Begun begun = engine.begin(kProvision, call);
  if (!begun.execution) throw std::runtime_error(begun.why);
  return *std::move(begun.execution);
}

// Asks until the verdict is another one than busy: what was dropped is recorded in the background.
Verdict verdict_of(Engine& engine, const Call& call) {
  Operation waits = kProvision;
  waits.wait = 30s;
  return engine.begin(waits, call).verdict;
}

TEST(Halves, FinishReleaseLeave) {
  Engine engine = open("memory:");
  const Call call{new_key()};
  const Ended released = engine.release(begun(engine, call), "no capacity");
  EXPECT_EQ(released.verdict, Verdict::released);
  EXPECT_EQ(released.why, "no capacity");
  const Ended finished = engine.finish(begun(engine, call), {0, {}, "started"});
  EXPECT_EQ(finished.verdict, Verdict::executed);
  const Begun again = engine.begin(kProvision, call);
  EXPECT_EQ(again.verdict, Verdict::replayed);
  EXPECT_EQ(again.answer, (Answer{200, {}, "started"}));
  EXPECT_EQ(again.attempt, 2u);

  const Call other{new_key()};
  EXPECT_EQ(engine.leave(begun(engine, other), "no answer").verdict, Verdict::unknown);
  const Begun left = engine.begin(kProvision, other);
  EXPECT_EQ(left.verdict, Verdict::unknown);
  EXPECT_NE(left.why.find("no answer"), std::string::npos);
}

TEST(Halves, AnExecutionMovesBetweenThreads) {
  Engine engine = open("memory:");
  const Call call{new_key()};
  Execution execution = begun(engine, call);
  EXPECT_EQ(engine.begin(kProvision, call).verdict, Verdict::busy);
  std::thread([&engine, moved = std::move(execution)]() mutable {
    EXPECT_FALSE(moved.lost());
    EXPECT_EQ(engine.finish(std::move(moved), {200, {}, "x"}).verdict, Verdict::executed);
  }).join();
  EXPECT_EQ(engine.begin(kProvision, call).verdict, Verdict::replayed);
}

TEST(Halves, ADroppedExecutionIsUnknownAtOnce) {
  Engine engine = open("memory:");
  const Call call{new_key()};
  {
    const Execution dropped = begun(engine, call);
  }
  EXPECT_EQ(verdict_of(engine, call), Verdict::unknown);
}

TEST(Halves, WithCallbacks) {
  Engine engine = open("memory:");
  const Call call{new_key()};
  std::promise<Ended> ended;
  engine.begin(kProvision, call, [&](Begun begun) {
    ASSERT_TRUE(begun.execution);
    engine.finish(*std::move(begun.execution), {201, {}, "x"},
                  [&](Ended end) { ended.set_value(std::move(end)); });
  });
  EXPECT_EQ(ended.get_future().get().verdict, Verdict::executed);
  std::promise<Begun> again;
  engine.begin(kProvision, call, [&](Begun begun) { again.set_value(std::move(begun)); });
  EXPECT_EQ(again.get_future().get().answer.status, 201);

  std::promise<Ended> released, left;
  engine.release(begun(engine, {new_key()}), "why",
                 [&](Ended end) { released.set_value(std::move(end)); });
  engine.leave(begun(engine, {new_key()}), "why",
               [&](Ended end) { left.set_value(std::move(end)); });
  EXPECT_EQ(released.get_future().get().verdict, Verdict::released);
  EXPECT_EQ(left.get_future().get().verdict, Verdict::unknown);
}

TEST(Halves, WhatAnEngineLeavesBehindIsUnknownInTheNext) {
  const Folder folder;
  const Call ended{new_key()}, held{new_key()}, dropped{new_key()};
  std::optional<Execution> outlives;
  {
    Engine engine = open(folder.url());
    engine.finish(begun(engine, ended), {200, {}, "kept"});
    outlives = begun(engine, held);
    {
      const Execution gone = begun(engine, dropped);
    }
  }
  outlives.reset();
  Engine engine = open(folder.url());
  EXPECT_EQ(engine.begin(kProvision, ended).answer.body, "kept");
  EXPECT_EQ(engine.begin(kProvision, held).verdict, Verdict::unknown);
  const Begun again = engine.begin(kProvision, dropped);
  EXPECT_EQ(again.verdict, Verdict::unknown);
  EXPECT_NE(again.why.find("dropped"), std::string::npos) << "recorded before the engine ended";
}

TEST(Halves, AnExecutionThatOutlivesItsEngineDoesNotCount) {
  std::optional<Engine> engine = open("memory:");
  Execution execution = begun(*engine, {new_key()});
  Engine other = open("memory:");
  engine.reset();
  EXPECT_EQ(other.finish(std::move(execution), {200, {}, ""}).verdict, Verdict::unknown);
}

TEST(Halves, TheDestructorEndsWaits) {
  std::optional<Engine> engine = open("memory:");
  const Call call{new_key()};
  const Execution running = begun(*engine, call);
  Operation waits = kProvision;
  waits.wait = std::chrono::hours(1);
  std::promise<Begun> refused;
  engine->begin(waits, call, [&](Begun begun) { refused.set_value(std::move(begun)); });
  engine.reset();
  EXPECT_EQ(refused.get_future().get().verdict, Verdict::busy);
}

TEST(Halves, ALargeAnswerIsKeptByItsOutcome) {
  Engine engine = open("memory:");
  const Call call{new_key()};
  const std::string large(std::size_t{64} << 20, 'x');
  EXPECT_EQ(engine.once(kProvision, call, [&] { return large; }).verdict(), Verdict::executed);
  const auto again = engine.once(kProvision, call, [&] { return large; });
  EXPECT_EQ(again.verdict(), Verdict::replayed);
  EXPECT_FALSE(again);
  EXPECT_NE(again.why().find("too large"), std::string::npos);
}

TEST(Open, AnEmbeddedStoreBelongsToOneEngine) {
  const Folder folder;
  std::optional<Engine> engine = open(folder.url());
  EXPECT_THROW(open(folder.url()), StoreInUse);
  engine.reset();
  EXPECT_TRUE(open(folder.url()).healthy());
}

TEST(Arguments, AreChecked) {
  Engine engine = open("memory:");
  const auto work = [] { return 1; };
  EXPECT_THROW(engine.once({""}, {"k"}, work), Error);
  EXPECT_THROW(engine.once({"pay"}, {""}, work), Error);
  EXPECT_THROW(engine.once({"pay"}, {"k\n"}, work), Error);
  EXPECT_THROW(engine.once({"pay"}, {std::string(256, 'k')}, work), Error);
  EXPECT_THROW(engine.once({"pay"}, {"k", "", std::string(256, 't')}, work), Error);
  Operation forgets{"pay"};
  forgets.ttl = 0ms;
  EXPECT_THROW(engine.once(forgets, {"k"}, work), Error);
  EXPECT_THROW(engine.resolve("12", std::nullopt, "ann", "why"), Error);
}

TEST(Parts, HaveOneReading) {
  EXPECT_NE(parts({"ab", "c"}), parts({"a", "bc"}));
  EXPECT_NE(parts({"", "1:a"}), parts({"1:a", ""}));
  EXPECT_EQ(canonical_json(R"({"a": 1.0, "b": [2]})"), canonical_json(R"({"b":[2],"a":1})"));
  EXPECT_NE(canonical_json("[1]"), canonical_json("[2]"));
  EXPECT_EQ(canonical_json("no JSON"), "no JSON");
}

}  // namespace
}  // namespace semel
