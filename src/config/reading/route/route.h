#pragma once

#include <optional>

#include "config/reading/reader.h"
#include "config/route.h"

namespace semel::config_file {

// Reports what is wrong with `defaults:` itself.
void check_defaults(const Field& defaults);

// One route: its own keys, over those of `defaults`, over its profile, over what is built in.
// Reports what is wrong with the route; errors inside `defaults` are left to check_defaults().
RouteConfig read_route(const Field& route, const std::optional<Field>& defaults);

}  // namespace semel::config_file
