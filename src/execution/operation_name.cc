#include "execution/operation_name.h"

#include <algorithm>

namespace semel::execution {

std::string operation_name(const config::RouteConfig& route, const std::string& name,
                           const http::Target& target) {
  switch (route.scope) {
    case config::ScopeKind::operation:
      return name;
    case config::ScopeKind::path:
      return name + "\t" + target.path;
    case config::ScopeKind::tenant:
      return std::string(kEveryOperation);
  }
  return name;
}

std::string_view name_in(std::string_view operation) {
  return operation.substr(0, operation.find('\t'));
}

std::string_view path_in(std::string_view operation) {
  const std::size_t tab = operation.find('\t');
  if (tab == std::string_view::npos || operation == kEveryOperation) return {};
  return operation.substr(tab + 1);
}

const config::RouteConfig& named_now(const config::RouteConfig& route,
                                     const runtime::ActiveConfig& begun,
                                     const runtime::ActiveConfig& now) {
  if (&begun == &now) return route;
  for (const config::RouteConfig& other : now.routes) {
    const bool renamed = std::ranges::find(other.aliases, route.name) != other.aliases.end();
    if (renamed && other.scope == route.scope) return other;
  }
  return route;
}

std::vector<std::string> former_operations(const config::RouteConfig& route,
                                           const http::Target& target) {
  std::vector<std::string> operations;
  if (route.scope == config::ScopeKind::tenant) return operations;
  for (const std::string& alias : route.aliases) {
    operations.push_back(operation_name(route, alias, target));
  }
  return operations;
}

std::vector<std::size_t> find_routes(const std::vector<config::RouteConfig>& routes,
                                     const Record& record) {
  const std::string_view name = name_in(record.operation);
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < routes.size(); ++i) {
    const config::RouteConfig& route = routes[i];
    if (name.empty() ? route.scope == config::ScopeKind::tenant
                     : route.name == name || std::ranges::count(route.aliases, name) > 0) {
      found.push_back(i);
    }
  }
  return found;
}

std::optional<std::size_t> find_probed_route(const std::vector<config::RouteConfig>& routes,
                                             const Record& record) {
  const auto probes = [&](std::size_t i) {
    return routes[i].operation.unknown == UnknownPolicy::probe;
  };
  const std::vector<std::size_t> found = find_routes(routes, record);
  const auto first = std::ranges::find_if(found, probes);
  if (first == found.end()) return std::nullopt;
  if (routes[*first].scope != config::ScopeKind::tenant) return *first;
  const config::RouteConfig& asked = routes[*first];
  const bool is_certain = std::ranges::all_of(found, [&](std::size_t i) {
    const config::Url& url = routes[i].probe.url;
    return probes(i) && url.tls == asked.probe.url.tls && url.address == asked.probe.url.address &&
           url.target == asked.probe.url.target && routes[i].forward_key == asked.forward_key;
  });
  return is_certain ? std::optional(*first) : std::nullopt;
}

}  // namespace semel::execution
