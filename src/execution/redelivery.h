#pragma once

#include <optional>

#include "config/config.h"
#include "semel/driver/record.h"
#include "semel/outcome.h"

// Decides which events that were answered with 202 are tried again, when, and when that ends:
// nobody but us can send them again. Pure.
namespace semel::execution {

// Returns the pause between `attempt` and the next one. It doubles each time and is up to half
// shorter by chance, which the token supplies.
Duration redelivery_pause(const config::WebhookConfig& webhook, std::uint32_t attempt,
                          const Token& token);

// Changes an outcome that is not final, on a route with webhook mode: queue. The event is queued
// again, not before its answer's Retry-After; or, after max_attempts, becomes a dead letter, which
// is an unknown record with that reason. Leaves other outcomes as they are. `now` is what a date in
// Retry-After is compared with.
void plan_redelivery(const config::RouteConfig& route, const Record& claim, Outcome& outcome,
                     Time now);

// Returns the pause before an execution that was lost with its process is tried again. nullopt: its
// outcome is unknown.
std::optional<Duration> redelivery_of_lost(const config::RouteConfig& route, const Record& claim);

// Returns whether the record is of an event that was given up after its last attempt.
bool is_dead_letter(const Record& record);

}  // namespace semel::execution
