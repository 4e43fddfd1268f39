#pragma once

#include "config/reading/route/parts.h"
#include "config/route.h"

namespace semel::config_file {

// A route while it is read: defaults, profile and the route's own keys, one over the other.
struct RouteDraft {
  RouteConfig config;
  OutcomePlan outcomes;
  bool is_defaults = false;
  bool has_ttl = false;
};

}  // namespace semel::config_file
