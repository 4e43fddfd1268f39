#pragma once

#include <string>
#include <vector>

#include "http/target.h"
#include "runtime/active_config.h"
#include "semel/record.h"

// Finds the operation that a request's key counts under.
namespace semel {

// `name` is the route's name, or one that it had before.
std::string operation_of(const RouteConfig& route, const std::string& name, const Target& target);
std::vector<std::string> former_operations(const RouteConfig& route, const Target& target);

// Returns the route under its present name. A reload may have renamed it while the request's body
// was arriving: the request has to be looked up where a retry of it would look.
const RouteConfig& named_now(const RouteConfig& route, const ActiveConfig& begun,
                             const ActiveConfig& now);

// Returns the routes that a record's operation belongs to: the one with that present or former
// name, or, with `scope: tenant`, where no name is kept, all routes of that scope. Empty: the route
// is no longer configured.
std::vector<std::size_t> find_routes(const Config& config, const Record& record);

}  // namespace semel
