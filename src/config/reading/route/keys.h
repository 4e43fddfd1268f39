#pragma once

#include "config/reading/reader.h"
#include "config/reading/route/draft.h"

// The keys of a route. Each overrides what the draft holds already, so that defaults and a route
// can be read one after the other.
namespace semel::config::reading {

// Reads every key but the profile, which must be applied before.
void read_route_keys(const Field& mapping, RouteDraft& draft);

// Reads the value of one key, by its name, for entries that are not routes but share some of their
// keys.
void read_route_key(const Field& value, std::string_view name, RouteDraft& draft);

}  // namespace semel::config::reading
