#include "gateway/redelivery.h"

#include <algorithm>

namespace semel {
namespace {

constexpr std::uint32_t kDoublingsMax = 30;

bool delivers_by_queue(const RouteConfig& route, const Record& claim) {
  return route.webhook && route.webhook->mode == WebhookMode::queue && !claim.request.empty();
}

}  // namespace

Duration redelivery_pause(const WebhookConfig& webhook, std::uint32_t attempt, const Token& token) {
  const std::uint32_t doublings = std::min(std::max(attempt, 1u) - 1, kDoublingsMax);
  const std::int64_t wanted_max = webhook.backoff_max.count() >> doublings;
  const Duration pause = webhook.backoff_min.count() > wanted_max
                             ? webhook.backoff_max
                             : webhook.backoff_min * (std::int64_t{1} << doublings);
  const std::int64_t chance = token.bytes[0] * 256 + token.bytes[1];  // of 65536
  return pause - pause / 2 * chance / 65536;
}

void plan_redelivery(const RouteConfig& route, const Record& claim, Outcome& outcome) {
  if (!delivers_by_queue(route, claim)) return;
  const bool again =
      outcome.kind == OutcomeKind::retry ||
      (outcome.kind == OutcomeKind::unknown && route.policy.unknown == UnknownPolicy::retry);
  if (!again) return;
  if (claim.attempt < route.webhook->max_attempts) {
    outcome.queue_again_after = redelivery_pause(*route.webhook, claim.attempt, claim.token);
    return;
  }
  outcome.kind = OutcomeKind::unknown;
  outcome.reason =
      "dead letter after " + std::to_string(claim.attempt) + " attempts: " + outcome.reason;
}

std::optional<Duration> redelivery_of_lost(const RouteConfig& route, const Record& claim) {
  Outcome lost;
  plan_redelivery(route, claim, lost);
  return lost.queue_again_after;
}

}  // namespace semel
