#pragma once

#include <optional>

#include "config/config.h"
#include "semel/outcome.h"
#include "semel/record.h"

// Events that were answered 202 are nobody's to send again but ours: which are tried again, when,
// and when that ends. Pure.
namespace semel {

// After how long the attempt after `attempt` is due: doubling, and up to half of it less by chance,
// which the token supplies.
Duration redelivery_pause(const WebhookConfig& webhook, std::uint32_t attempt, const Token& token);

// Of an outcome that was not final, on a route with webhook mode: queue: the event is queued again,
// not before its answer's Retry-After; or, after max_attempts, it is a dead letter, which is an
// unknown record with that reason. Other outcomes are left as they are.
void plan_redelivery(const RouteConfig& route, const Record& claim, Outcome& outcome);

// The same for an execution that was lost with its process. nullopt: its outcome is unknown.
std::optional<Duration> redelivery_of_lost(const RouteConfig& route, const Record& claim);

}  // namespace semel
