#pragma once

#include <string>
#include <vector>

#include "http/target.h"
#include "runtime/active_config.h"
#include "semel/record.h"

// Under which operation a request's key counts.
namespace semel {

// `name`: the route's, or one it had before.
std::string operation_of(const RouteConfig& route, const std::string& name, const Target& target);
std::vector<std::string> former_operations(const RouteConfig& route, const Target& target);

// The route by the name it has now. A reload may have renamed it while the request's body was
// arriving: the request is asked for where a retry of it would look.
const RouteConfig& named_now(const RouteConfig& route, const ActiveConfig& begun,
                             const ActiveConfig& now);

// The route whose operation a record is, by its present name or an old one; with `scope: tenant`,
// where no name is kept, all of that scope. Empty: it is no longer configured.
std::vector<std::size_t> find_routes(const Config& config, const Record& record);

}  // namespace semel
