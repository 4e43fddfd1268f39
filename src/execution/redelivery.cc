#include "execution/redelivery.h"

#include <algorithm>
#include <charconv>

#include "http/message.h"

namespace semel {
namespace {

constexpr std::uint32_t kDoublingsMax = 30;

bool delivers_by_queue(const RouteConfig& route, const Record& claim) {
  return route.webhook && route.webhook->mode == WebhookMode::queue && !claim.request.empty();
}

// Returns the pause that the upstream asks for, in seconds; a date is ignored.
Duration asked_pause(const Answer& answer) {
  for (const Header& header : answer.headers) {
    if (!net::iequals(header.name, "Retry-After")) continue;
    const std::string& text = header.value;
    std::uint32_t seconds = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (failed == std::errc() && end == text.data() + text.size()) {
      return std::chrono::seconds(seconds);
    }
  }
  return Duration{0};
}

}  // namespace

Duration redelivery_pause(const WebhookConfig& webhook, std::uint32_t attempt, const Token& token) {
  const std::uint32_t doublings = std::min(std::max(attempt, 1u) - 1, kDoublingsMax);
  const std::int64_t wanted_max = webhook.backoff_max.count() >> doublings;
  const Duration pause = webhook.backoff_min.count() > wanted_max
                             ? webhook.backoff_max
                             : webhook.backoff_min * (std::int64_t{1} << doublings);
  const std::int64_t chance = token.bytes[0] * 256 + token.bytes[1];  // 0 to 65535
  return pause - pause / 2 * chance / 65536;
}

void plan_redelivery(const RouteConfig& route, const Record& claim, Outcome& outcome) {
  if (!delivers_by_queue(route, claim)) return;
  const bool again =
      outcome.kind == OutcomeKind::retry ||
      (outcome.kind == OutcomeKind::unknown && route.policy.unknown == UnknownPolicy::retry);
  if (!again) return;
  if (claim.attempt < route.webhook->max_attempts) {
    const Duration asked = std::min(asked_pause(outcome.answer), route.webhook->backoff_max);
    outcome.queue_again_after =
        std::max(asked, redelivery_pause(*route.webhook, claim.attempt, claim.token));
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
