#include "execution/redelivery.h"

#include <algorithm>

#include "base/backoff.h"
#include "core/retry_after.h"
#include "http/message.h"

namespace semel::execution {
namespace {

constexpr std::string_view kDeadLetter = "dead letter after ";

bool delivers_by_queue(const config::RouteConfig& route, const Record& claim) {
  return route.webhook && route.webhook->mode == config::WebhookMode::queue &&
         !claim.request.empty();
}

// Returns the pause that the upstream asks for, `longest` at most; zero if it asks for none.
Duration asked_pause(const Answer& answer, Time now, Duration longest) {
  for (const Header& header : answer.headers) {
    if (!http::iequals(header.name, "Retry-After")) continue;
    if (const auto asked = core::parse_retry_after(header.value, now, longest)) return *asked;
  }
  return Duration{0};
}

std::uint64_t number_of(const Token& token) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i) number = number << 8 | token.bytes[i];
  return number;
}

}  // namespace

Duration redelivery_pause(const config::WebhookConfig& webhook, std::uint32_t attempt,
                          const Token& token) {
  const Duration pause = base::backoff_after(attempt, webhook.backoff_min, webhook.backoff_max);
  return base::jittered(pause, number_of(token));
}

void plan_redelivery(const config::RouteConfig& route, const Record& claim, Outcome& outcome,
                     Time now) {
  if (!delivers_by_queue(route, claim)) return;
  const bool again =
      outcome.kind == OutcomeKind::retry ||
      (outcome.kind == OutcomeKind::unknown && route.operation.unknown == UnknownPolicy::retry);
  if (!again) return;
  if (claim.attempt < route.webhook->max_attempts) {
    const Duration asked = asked_pause(outcome.answer, now, route.webhook->backoff_max);
    outcome.queue_again_after =
        std::max(asked, redelivery_pause(*route.webhook, claim.attempt, claim.token));
    return;
  }
  outcome.kind = OutcomeKind::unknown;
  outcome.reason =
      std::string(kDeadLetter) + std::to_string(claim.attempt) + " attempts: " + outcome.reason;
  outcome.reason_code = ReasonCode::other;
}

bool is_dead_letter(const Record& record) {
  return record.state == RecordState::unknown && !record.request.empty() &&
         record.reason.starts_with(kDeadLetter);
}

std::optional<Duration> redelivery_of_lost(const config::RouteConfig& route, const Record& claim) {
  Outcome lost;
  plan_redelivery(route, claim, lost, Time{});  // no answer, so no date
  return lost.queue_again_after;
}

}  // namespace semel::execution
