#include "execution/operation.h"

#include <algorithm>

namespace semel {

std::string operation_of(const RouteConfig& route, const std::string& name, const Target& target) {
  switch (route.scope) {
    case ScopeKind::operation:
      return name;
    case ScopeKind::path:
      return name + "\t" + target.path;
    case ScopeKind::tenant:
      return "\t*";
  }
  return name;
}

const RouteConfig& named_now(const RouteConfig& route, const ActiveConfig& begun,
                             const ActiveConfig& now) {
  if (&begun == &now) return route;
  for (const RouteConfig& other : now.config.routes) {
    const bool renamed = std::ranges::find(other.aliases, route.name) != other.aliases.end();
    if (renamed && other.scope == route.scope) return other;
  }
  return route;
}

std::vector<std::string> former_operations(const RouteConfig& route, const Target& target) {
  std::vector<std::string> operations;
  if (route.scope == ScopeKind::tenant) return operations;
  for (const std::string& alias : route.aliases) {
    operations.push_back(operation_of(route, alias, target));
  }
  return operations;
}

std::vector<std::size_t> find_routes(const Config& config, const Record& record) {
  const std::string name = record.operation.substr(0, record.operation.find('\t'));
  std::vector<std::size_t> routes;
  for (std::size_t i = 0; i < config.routes.size(); ++i) {
    const RouteConfig& route = config.routes[i];
    if (name.empty() ? route.scope == ScopeKind::tenant
                     : route.name == name || std::ranges::count(route.aliases, name) > 0) {
      routes.push_back(i);
    }
  }
  return routes;
}

}  // namespace semel
