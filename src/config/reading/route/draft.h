#pragma once

#include "config/reading/route/parts.h"
#include "config/route.h"

namespace semel::config::reading {

// A route while it is being read: profile, defaults and the route's own keys, in layers.
struct RouteDraft {
  RouteConfig config;
  OutcomePlan outcomes;
  bool is_defaults = false;
  bool has_ttl = false;
};

}  // namespace semel::config::reading
