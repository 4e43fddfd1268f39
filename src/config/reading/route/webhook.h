#pragma once

#include "config/reading/reader.h"
#include "config/reading/route/draft.h"

// Webhook routes: the mapping `webhook:`, and its effect on the rest of its route.
namespace semel::config::reading {

// Reads the mapping. Errors never show a secret, written out or from a variable.
void read_webhook(const Field& field, std::optional<WebhookConfig>& out);

// Call after the whole route was read. A key of the route that conflicts with its webhook is an
// error; a key that is only in the defaults gives way.
void fit_webhook(const Field& route, const std::optional<Field>& defaults, RouteDraft& draft);

}  // namespace semel::config::reading
