// Retries and dead letters of events that could not be delivered.
#include "execution/redelivery.h"

#include <gtest/gtest.h>

#include <random>

namespace semel::execution {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

const Time kNow = Time(seconds(784111777));  // Sun, 06 Nov 1994 08:49:37 GMT

config::RouteConfig queue_route(UnknownPolicy unknown = UnknownPolicy::hold) {
  config::RouteConfig route;
  route.webhook.emplace();
  route.webhook->mode = config::WebhookMode::queue;
  route.webhook->max_attempts = 3;
  route.operation.unknown = unknown;
  return route;
}

Record claim_of(std::uint32_t attempt) {
  Record record;
  record.attempt = attempt;
  record.request = "the event";
  return record;
}

Outcome planned(const config::RouteConfig& route, const Record& claim, OutcomeKind kind) {
  Outcome outcome{kind, {}, "status 503", ReasonCode::executor_status};
  plan_redelivery(route, claim, outcome, kNow);
  return outcome;
}

TEST(Redelivery, ThePauseDoublesUpToTheMostAndIsShortenedByChance) {
  config::WebhookConfig webhook;  // 5 s to 1 h
  const Token least;
  EXPECT_EQ(redelivery_pause(webhook, 1, least), seconds(5));
  EXPECT_EQ(redelivery_pause(webhook, 2, least), seconds(10));
  EXPECT_EQ(redelivery_pause(webhook, 10, least), seconds(2560));
  EXPECT_EQ(redelivery_pause(webhook, 11, least), hours(1));
  EXPECT_EQ(redelivery_pause(webhook, 1000, least), hours(1));
  for (const std::uint32_t attempt : {1u, 2u, 10u, 11u, 1000u}) {
    const Duration whole = redelivery_pause(webhook, attempt, least);
    Duration shortest = whole;
    std::mt19937 random(attempt);
    for (int i = 0; i < 1000; ++i) {
      Token token;
      for (std::uint8_t& byte : token.bytes) byte = static_cast<std::uint8_t>(random());
      const Duration shortened = redelivery_pause(webhook, attempt, token);
      EXPECT_LE(shortened, whole);
      shortest = std::min(shortest, shortened);
    }
    EXPECT_LT(shortest, whole * 51 / 100);
    EXPECT_GE(shortest, whole / 2);
  }
}

TEST(Redelivery, AFailureIsTriedAgainUntilItIsADeadLetter) {
  const config::RouteConfig route = queue_route();
  for (const std::uint32_t attempt : {1u, 2u}) {
    const Outcome outcome = planned(route, claim_of(attempt), OutcomeKind::retry);
    EXPECT_EQ(outcome.kind, OutcomeKind::retry);
    EXPECT_TRUE(outcome.queue_again_after);
    EXPECT_EQ(outcome.reason, "status 503");
    EXPECT_EQ(outcome.reason_code, ReasonCode::executor_status);
  }
  const Outcome dead = planned(route, claim_of(3), OutcomeKind::retry);
  EXPECT_EQ(dead.kind, OutcomeKind::unknown);
  EXPECT_FALSE(dead.queue_again_after);
  EXPECT_EQ(dead.reason, "dead letter after 3 attempts: status 503");
  EXPECT_EQ(dead.reason_code, ReasonCode::other) << "the operator's business";
}

TEST(Redelivery, WaitsForAsLongAsTheUpstreamAsks) {
  const config::RouteConfig route = queue_route();
  const auto pause = [&](std::string retry_after) {
    Outcome outcome{OutcomeKind::retry, {503, {{"retry-after", std::move(retry_after)}}, ""}, ""};
    plan_redelivery(route, claim_of(1), outcome, kNow);
    return *outcome.queue_again_after;
  };
  EXPECT_EQ(pause("60"), seconds(60));
  EXPECT_EQ(pause("1"), seconds(5));
  EXPECT_EQ(pause("4000000000"), hours(1));
  EXPECT_EQ(pause("Sun, 06 Nov 1994 08:50:37 GMT"), seconds(60));
  EXPECT_EQ(pause("Mon, 07 Nov 1994 08:49:37 GMT"), hours(1));
  for (const char* other :
       {"", "-60", "60s", "99999999999999999999", "Sun, 06 Nov 1994 08:49:37 GMT"}) {
    EXPECT_EQ(pause(other), seconds(5)) << other;
  }
}

TEST(Redelivery, AnUnknownOutcomeIsTriedAgainOnlyWhereTheRouteSaysSo) {
  for (const UnknownPolicy unknown : {UnknownPolicy::hold, UnknownPolicy::probe}) {
    const Outcome held = planned(queue_route(unknown), claim_of(1), OutcomeKind::unknown);
    EXPECT_FALSE(held.queue_again_after);
    EXPECT_EQ(held.reason, "status 503");
    EXPECT_FALSE(redelivery_of_lost(queue_route(unknown), claim_of(1)));
  }
  const config::RouteConfig retry = queue_route(UnknownPolicy::retry);
  EXPECT_TRUE(planned(retry, claim_of(1), OutcomeKind::unknown).queue_again_after);
  EXPECT_TRUE(redelivery_of_lost(retry, claim_of(1)));
  EXPECT_FALSE(redelivery_of_lost(retry, claim_of(3)));
}

TEST(Redelivery, LeavesOtherOutcomesAndOtherRoutesAlone) {
  EXPECT_FALSE(planned(queue_route(), claim_of(1), OutcomeKind::final).queue_again_after);
  config::RouteConfig direct = queue_route();
  direct.webhook->mode = config::WebhookMode::direct;
  Record no_request = claim_of(9);
  no_request.request.clear();
  for (const Outcome& outcome : {planned(config::RouteConfig{}, claim_of(9), OutcomeKind::retry),
                                 planned(direct, claim_of(9), OutcomeKind::retry),
                                 planned(queue_route(), no_request, OutcomeKind::retry)}) {
    EXPECT_EQ(outcome.kind, OutcomeKind::retry);
    EXPECT_FALSE(outcome.queue_again_after);
  }
}

}  // namespace
}  // namespace semel::execution
