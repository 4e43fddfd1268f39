#include "client/course.h"

#include <gtest/gtest.h>

namespace semel::client {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using End = Sent::End;

constexpr std::uint64_t kMost = ~std::uint64_t{0};

Tried failed(Failure::Kind kind, bool sent = true) {
  return {.result = std::unexpected(Failure{kind, "no answer"}), .sent = sent};
}
Tried answered(int status, std::vector<Header> headers = {}, std::string body = {}) {
  return {.result = Answer{status, std::move(headers), std::move(body)}, .sent = true};
}

// A call whose time the test moves.
struct Call {
  explicit Call(RetryRules given = {}, Protection request = {"POST", true})
      : rules(std::move(given)), course(rules, budget, request, SteadyPoint{}) {}

  Course::Step after(const Tried& tried) {
    return course.after(tried, {SteadyPoint{} + at, Time(hours(1)) + at, random});
  }
  // Steps to the next try, or nullopt.
  std::optional<Duration> pause_after(const Tried& tried) {
    const Course::Step step = after(tried);
    const auto* again = std::get_if<Course::Again>(&step);
    if (!again) return std::nullopt;
    at += again->pause;
    return again->pause;
  }
  Course::Over over_after(const Tried& tried) {
    const Course::Step step = after(tried);
    EXPECT_TRUE(std::holds_alternative<Course::Over>(step));
    return std::holds_alternative<Course::Over>(step) ? std::get<Course::Over>(step)
                                                      : Course::Over{};
  }

  RetryRules rules;
  RetryBudget budget;
  Duration at{0};
  std::uint64_t random = 0;
  Course course;
};

// The number that draws the longest pause below `limit`.
std::uint64_t longest(Duration limit) {
  return static_cast<std::uint64_t>(limit.count());
}

TEST(Course, PausesAreDrawnFromZeroToALimitThatDoubles) {
  Call call({.tries_max = 100, .deadline = hours(1)});
  for (const int limit : {200, 400, 800, 1600, 3200, 6400, 12800, 20000, 20000}) {
    call.random = longest(milliseconds(limit));
    EXPECT_EQ(call.pause_after(failed(Failure::Kind::broken)), milliseconds(limit));
  }
  call.random = 0;
  EXPECT_EQ(call.pause_after(failed(Failure::Kind::broken)), milliseconds(0));
}

TEST(Course, AThrottlingServerIsGivenLonger) {
  for (const int status : {429, 503}) {
    Call call;
    call.random = 1000;
    EXPECT_EQ(call.pause_after(answered(status)), seconds(1)) << status;
  }
}

TEST(Course, RetryAfterIsAFloorWithATenthOfJitter) {
  Call call;
  EXPECT_EQ(call.pause_after(answered(409, {{"Retry-After", "10"}})), seconds(10));
  call.random = std::uint64_t{1000} << 32;
  EXPECT_EQ(call.pause_after(answered(409, {{"Retry-After", "10"}})), seconds(11));
  call.random = std::uint64_t{1001} << 32;
  EXPECT_EQ(call.pause_after(answered(409, {{"Retry-After", "10"}})), seconds(10));
}

TEST(Course, ARetryAfterThatIsTooLongEndsTheCallAndIsReported) {
  Call call;
  const auto over = call.over_after(answered(503, {{"Retry-After", "61"}}));
  EXPECT_EQ(over.end, End::gave_up);
  EXPECT_EQ(over.retry_at, Time(hours(1)) + seconds(61));
  EXPECT_TRUE(over.same_key_may_retry);
  EXPECT_NE(over.why.find("61 s"), std::string::npos) << over.why;

  Call late({.deadline = seconds(30)});
  late.at = seconds(25);
  EXPECT_EQ(late.over_after(answered(503, {{"Retry-After", "5"}})).end, End::gave_up);
  Call lies;
  EXPECT_EQ(lies.over_after(answered(503, {{"Retry-After", "99999999999999"}})).end, End::gave_up);
}

TEST(Course, EndsAfterEightTries) {
  Call call;
  for (int i = 1; i < 8; ++i) ASSERT_TRUE(call.pause_after(failed(Failure::Kind::broken))) << i;
  const auto over = call.over_after(failed(Failure::Kind::broken));
  EXPECT_EQ(over.end, End::gave_up);
  EXPECT_TRUE(over.same_key_may_retry);
  EXPECT_FALSE(over.new_key_safe);
  EXPECT_EQ(call.course.tries(), 8);
}

TEST(Course, NoTryIsBegunThatCouldHardlyEnd) {
  Call call({.deadline = seconds(60)});
  Tried slow = failed(Failure::Kind::timeout);
  slow.took = seconds(30);
  call.at = seconds(56);
  EXPECT_TRUE(call.pause_after(slow));
  call.at = seconds(57);
  EXPECT_EQ(call.over_after(slow).end, End::gave_up);
  EXPECT_EQ(call.course.try_until(SteadyPoint{} + seconds(57)), SteadyPoint{} + seconds(60));
}

TEST(Course, TheBudgetIsSharedAndGivenBack) {
  Call call;
  EXPECT_TRUE(call.pause_after(failed(Failure::Kind::broken)));
  EXPECT_EQ(call.budget.left(), 495);
  EXPECT_TRUE(call.pause_after(failed(Failure::Kind::timeout)));
  EXPECT_EQ(call.budget.left(), 485);
  EXPECT_EQ(call.over_after(answered(201)).end, End::answered);
  EXPECT_EQ(call.budget.left(), 495);
  call.budget.take(495);
  EXPECT_EQ(call.over_after(failed(Failure::Kind::broken)).end, End::gave_up);
  call.budget.give_back(100000);
  EXPECT_EQ(call.budget.left(), RetryBudget::kTokens);
}

TEST(Course, TheFirstRetryAfterAnIdleConnectionGoesOutAtOnce) {
  Call call;
  call.random = 200;
  Tried idle = failed(Failure::Kind::broken);
  idle.was_idle = true;
  EXPECT_EQ(call.pause_after(idle), Duration(0));
  EXPECT_EQ(call.pause_after(idle), milliseconds(200));
}

TEST(Course, AnInProgressAnswerDoesNotRaiseTheBackoff) {
  Call call;
  for (int i = 0; i < 5; ++i) call.pause_after(answered(409, {{"Retry-After", "0"}}));
  call.random = longest(milliseconds(200));
  EXPECT_EQ(call.pause_after(failed(Failure::Kind::broken)), milliseconds(200));

  Call taken;
  for (int i = 0; i < 3; ++i) taken.pause_after(answered(409));
  taken.random = longest(milliseconds(1600));
  EXPECT_EQ(taken.pause_after(answered(409)), milliseconds(1600));
}

TEST(Course, StopsBeforeTheServerForgetsTheKey) {
  Call call;
  // Time(hours(1)) is 01:00:00 of the first day.
  const Tried busy = answered(
      409, {{"Retry-After", "5"}, {"Idempotency-Expires", "Thu, 01 Jan 1970 01:00:05 GMT"}});
  const auto over = call.over_after(busy);
  EXPECT_EQ(over.end, End::gave_up);
  EXPECT_FALSE(over.same_key_may_retry);
}

TEST(Course, ANewKeyIsSafeOnlyIfNothingCanHaveHappened) {
  RetryRules once{.tries_max = 1};
  EXPECT_TRUE(Call(once).over_after(failed(Failure::Kind::unreachable, false)).new_key_safe);
  EXPECT_FALSE(Call(once).over_after(failed(Failure::Kind::broken)).new_key_safe);
  Call call;
  EXPECT_TRUE(call.pause_after(answered(502)));
  EXPECT_FALSE(call.over_after(failed(Failure::Kind::misconfigured, false)).new_key_safe);
  Call limited;
  EXPECT_TRUE(limited.pause_after(failed(Failure::Kind::timeout)));
  EXPECT_FALSE(limited.over_after(answered(422, {}, R"({"new_key_safe":true})")).new_key_safe);
}

TEST(Course, WithoutAKeyAPostIsTriedOnce) {
  const Protection bare{"POST", false};
  EXPECT_EQ(Call({}, bare).over_after(failed(Failure::Kind::timeout)).end, End::unknown);
  EXPECT_EQ(Call({}, bare).over_after(failed(Failure::Kind::unreachable, false)).end, End::gave_up);
  EXPECT_TRUE(Call({}, {"PUT", false}).pause_after(failed(Failure::Kind::timeout)));
}

TEST(Course, WhatARetryCannotMendEndsTheCall) {
  for (const auto kind :
       {Failure::Kind::misconfigured, Failure::Kind::stopped, Failure::Kind::too_large}) {
    EXPECT_EQ(Call().over_after(failed(kind)).end, End::gave_up);
  }
}

TEST(Course, UnknownIsAResultOfItsOwn) {
  Call call;
  const auto over = call.over_after(
      answered(409, {{"Retry-After", "60"}}, R"({"code":"outcome-unknown","new_key_safe":false})"));
  EXPECT_EQ(over.end, End::unknown);
  EXPECT_TRUE(over.same_key_may_retry);
  EXPECT_FALSE(over.new_key_safe);
  EXPECT_TRUE(over.retry_at.has_value());
}

TEST(Course, NoPauseOverflows) {
  Call call({.tries_max = 1000, .deadline = hours(24 * 365)});
  call.random = kMost;
  for (int i = 0; i < 60; ++i) {
    const auto pause = call.pause_after(failed(Failure::Kind::broken));
    ASSERT_TRUE(pause && *pause <= seconds(20) && *pause >= Duration(0)) << i;
  }
}

}  // namespace
}  // namespace semel::client
