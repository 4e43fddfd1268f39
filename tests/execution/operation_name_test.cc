// Which route a record belongs to, and whose executor can be asked about it.
#include "execution/operation_name.h"

#include <gtest/gtest.h>

namespace semel::execution {
namespace {

config::RouteConfig probed(std::string name, config::ScopeKind scope, std::string target) {
  config::RouteConfig route;
  route.name = std::move(name);
  route.scope = scope;
  route.operation.unknown = UnknownPolicy::probe;
  route.probe.url = {.tls = false, .address = {"127.0.0.1", 80}, .target = std::move(target)};
  return route;
}

Record made_by(const config::RouteConfig& route, const std::string& path) {
  http::Target target;
  target.path = path;
  Record record;
  record.operation = operation_name(route, route.name, target);
  return record;
}

TEST(Operation, TheRouteThatProbesIsFoundWhateverItsScope) {
  for (const config::ScopeKind scope :
       {config::ScopeKind::operation, config::ScopeKind::path, config::ScopeKind::tenant}) {
    const std::vector<config::RouteConfig> routes = {
        probed("charges", scope, "/outcomes/{record}")};
    EXPECT_EQ(find_probed_route(routes, made_by(routes[0], "/charges/1")), 0);
  }
}

// An executor that never got the attempt would say that it has not run.
TEST(Operation, WithScopeTenantNobodyIsAskedUnlessAllRoutesAskTheSame) {
  std::vector<config::RouteConfig> routes = {
      probed("charges", config::ScopeKind::tenant, "/outcomes/{record}"),
      probed("refunds", config::ScopeKind::tenant, "/outcomes/{record}"),
      probed("orders", config::ScopeKind::operation, "/others/{record}")};
  const Record record = made_by(routes[1], "/refunds");
  EXPECT_EQ(find_probed_route(routes, record), 0);
  routes[1].probe.url.target = "/refunded/{record}";
  EXPECT_EQ(find_probed_route(routes, record), std::nullopt);
  routes[1] = probed("refunds", config::ScopeKind::tenant, "/outcomes/{record}");
  routes[1].operation.unknown = UnknownPolicy::hold;
  EXPECT_EQ(find_probed_route(routes, record), std::nullopt);
  EXPECT_EQ(find_probed_route(routes, made_by(routes[2], "/orders")), 2);
}

TEST(Operation, ItsNameIsTheRoutesWhateverThePath) {
  EXPECT_EQ(name_in("charges"), "charges");
  EXPECT_EQ(name_in("charges\t/charges/1"), "charges");
  EXPECT_EQ(name_in("\t*"), "");
}

}  // namespace
}  // namespace semel::execution
