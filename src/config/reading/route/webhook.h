#pragma once

#include "config/reading/reader.h"
#include "config/reading/route/draft.h"

// Webhook routes: the mapping `webhook:`, and what it makes of the rest of its route.
namespace semel::config_file {

// No message here ever shows a secret, written out or from a variable.
void read_webhook(const Field& field, std::optional<WebhookConfig>& out);

// To be called when the whole route was read. What the route says against its webhook is an error;
// what only the defaults say gives way.
void fit_webhook(const Field& route, const std::optional<Field>& defaults, RouteDraft& draft);

}  // namespace semel::config_file
