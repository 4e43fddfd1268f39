// The endpoints of a configured upstream: as many as its name has addresses.
#include "runtime/upstreams/endpoint_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace semel::runtime {
namespace {

using testing::ElementsAre;

std::vector<std::string> addresses(const EndpointSet& set) {
  std::vector<std::string> found;
  for (const EndpointPtr& endpoint : set.endpoints()) found.push_back(endpoint->key().address);
  return found;
}

TEST(EndpointSet, FollowsTheAddressesOfAName) {
  EndpointSet set({"api.example", 80, {}, {}, {}});
  EXPECT_TRUE(set.is_name());
  EXPECT_THAT(addresses(set), ElementsAre(""));
  EXPECT_TRUE(set.resolved({"10.0.0.2", "10.0.0.1", "10.0.0.2"}));
  EXPECT_THAT(addresses(set), ElementsAre("10.0.0.1", "10.0.0.2"));
  EXPECT_FALSE(set.resolved({"10.0.0.1", "10.0.0.2"}));
  const EndpointPtr kept = set.endpoints()[1];
  EXPECT_TRUE(set.resolved({"10.0.0.3", "10.0.0.2"}));
  EXPECT_THAT(addresses(set), ElementsAre("10.0.0.2", "10.0.0.3"));
  EXPECT_EQ(set.endpoints()[0], kept);
  EXPECT_FALSE(set.resolved({}));
  EXPECT_THAT(addresses(set), ElementsAre("10.0.0.2", "10.0.0.3"));
}

TEST(EndpointSet, AnAddressIsNoName) {
  EXPECT_FALSE(EndpointSet({"127.0.0.1", 80, {}, {}, {}}).is_name());
  EXPECT_FALSE(EndpointSet({"::1", 80, {}, {}, {}}).is_name());
}

TEST(EndpointSet, RoutesShareOneForTheSameAddressAndAReloadKeepsIt) {
  std::vector<config::RouteConfig> routes(3);
  routes[0].upstreams = {{false, {"a", 1}, "/base"}, {false, {"b", 1}, ""}};
  routes[1].upstreams = {{false, {"a", 1}, ""}};
  routes[2].upstreams = {{false, {"a", 1}, ""}};
  routes[2].health = config::HealthConfig{.path = "/healthz"};
  const auto before = make_endpoints(routes, {});
  EXPECT_EQ(before[0][0], before[1][0]);
  EXPECT_NE(before[0][0], before[0][1]);
  EXPECT_NE(before[0][0], before[2][0]);  // checked by other rules
  const auto after = make_endpoints({routes[2], routes[1]}, before);
  EXPECT_EQ(after[0][0], before[2][0]);
  EXPECT_EQ(after[1][0], before[0][0]);
}

}  // namespace
}  // namespace semel::runtime
