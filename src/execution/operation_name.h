#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/target.h"
#include "runtime/active_config.h"
#include "semel/driver/record.h"

// Names the operation that a request's key counts under.
namespace semel::execution {

// `name` is the route's name, or one that it had before.
std::string operation_name(const config::RouteConfig& route, const std::string& name,
                           const http::Target& target);
std::vector<std::string> former_operations(const config::RouteConfig& route,
                                           const http::Target& target);

// The operation of every key on a route with `scope: tenant`, whose keys count for all operations
// of a tenant. No route can have this name.
inline constexpr std::string_view kEveryOperation = "\t*";

// Returns the name in a record's operation, without the path that `scope: path` adds. "": with
// `scope: tenant` there is none.
std::string_view name_in(std::string_view operation);

// Returns the path that `scope: path` adds to a record's operation. "": none.
std::string_view path_in(std::string_view operation);

// Returns the route under its present name. A reload may have renamed it while the request's body
// was arriving: the request has to be looked up where a retry of it would look.
const config::RouteConfig& named_now(const config::RouteConfig& route,
                                     const runtime::ActiveConfig& begun,
                                     const runtime::ActiveConfig& now);

// Returns the routes that a record's operation belongs to: the one with that present or former
// name, or, with `scope: tenant`, where no name is kept, all routes of that scope. Empty: the route
// is no longer configured.
std::vector<std::size_t> find_routes(const std::vector<config::RouteConfig>& routes,
                                     const Record& record);

// Returns the route whose executor can be asked about an unknown record. With `scope: tenant` that
// is certain only if all routes of that scope ask the same one: an executor that never got the
// attempt would say that it has not run. nullopt: only a request with the key can ask.
std::optional<std::size_t> find_probed_route(const std::vector<config::RouteConfig>& routes,
                                             const Record& record);

}  // namespace semel::execution
