#pragma once

#include <optional>

#include "config/reading/reader.h"
#include "config/route.h"

namespace semel::config::reading {

// Reports errors in `defaults:` itself.
void check_defaults(const Field& defaults);

// Reads one route: its own keys override those of `defaults`, which override its profile, which
// overrides what is built in. Reports errors in the route; errors inside `defaults` are left to
// check_defaults().
RouteConfig read_route(const Field& route, const std::optional<Field>& defaults);

}  // namespace semel::config::reading
