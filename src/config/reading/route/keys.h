#pragma once

#include "config/reading/reader.h"
#include "config/reading/route/draft.h"

// The keys of a route. Each is read over what the draft holds already, so that defaults and a route
// can be read one after the other.
namespace semel::config_file {

// Every key but the profile, which is to be applied before.
void read_route_keys(const Field& mapping, RouteDraft& draft);

// The value of one of them, by its name, for what is not a route but shares some of its keys.
void read_route_key(const Field& value, std::string_view name, RouteDraft& draft);

}  // namespace semel::config_file
