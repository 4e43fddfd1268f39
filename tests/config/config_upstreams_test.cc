// How a route chooses among its upstreams, checks them and stops using them.
#include <chrono>

#include "config/config.h"
#include "config/config_support.h"

namespace semel::config::test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ConfigUpstreams, HaveDefaults) {
  const RouteConfig route = config_of(with_route("name: r")).routes.at(0);
  EXPECT_EQ(route.balance.by, Balance::round_robin);
  EXPECT_EQ(route.balance.fail_after, 3U);
  EXPECT_EQ(route.balance.eject_for, seconds(10));
  EXPECT_EQ(route.balance.slow_start, seconds(0));
  EXPECT_FALSE(route.health);
  EXPECT_FALSE(route.circuit);
}

TEST(ConfigUpstreams, ReadsEveryKey) {
  const RouteConfig route =
      config_of(with_route("balance: least_connections, fail_after: 0, eject_for: 1h, "
                           "slow_start: 30s, health: {path: \"/up?x=1\", interval: 100ms, "
                           "timeout: 1s, unhealthy_after: 4, healthy_after: 5}, "
                           "circuit: {failures: 6, window: 7s, open_for: 8s}"))
          .routes.at(0);
  EXPECT_EQ(route.balance.by, Balance::least_connections);
  EXPECT_EQ(route.balance.fail_after, 0U);
  EXPECT_EQ(route.balance.eject_for, hours(1));
  EXPECT_EQ(route.balance.slow_start, seconds(30));
  EXPECT_EQ(route.health, (HealthConfig{"/up?x=1", milliseconds(100), seconds(1), 4, 5}));
  EXPECT_EQ(route.circuit, (CircuitConfig{6, seconds(7), seconds(8)}));
}

TEST(ConfigUpstreams, ARouteCanSwitchOffWhatDefaultsSwitchOn) {
  const Config config = config_of(R"(
tenant: {from: none}
defaults: {upstream: http://up, health: {path: /healthz}, circuit: {failures: 5}}
routes:
  - {path: /a, health: off, circuit: off}
  - {path: /b, health: {interval: 1s}, circuit: {window: 1s}}
)");
  EXPECT_FALSE(config.routes[0].health || config.routes[0].circuit);
  EXPECT_EQ(config.routes[1].health->path, "/healthz");
  EXPECT_EQ(config.routes[1].health->interval, seconds(1));
  EXPECT_EQ(config.routes[1].circuit->failures, 5U);
  EXPECT_EQ(config.routes[1].circuit->window, seconds(1));
}

TEST(ConfigUpstreams, BadValuesAreExplained) {
  const auto error_of = [](std::string_view members) { return errors_of(with_route(members)); };
  EXPECT_THAT(error_of("balance: random"), Contains(HasSubstr("round_robin")));
  EXPECT_THAT(error_of("fail_after: 1001"), Contains(HasSubstr("fail_after")));
  EXPECT_THAT(error_of("eject_for: 0s"), Contains(HasSubstr("eject_for")));
  EXPECT_THAT(error_of("slow_start: 2h"), Contains(HasSubstr("slow_start")));
  EXPECT_THAT(error_of("health: {}"), Contains(HasSubstr("needs a path to ask")));
  EXPECT_THAT(error_of("health: {path: healthz}"), Contains(HasSubstr("is not a path")));
  EXPECT_THAT(error_of("health: {path: \"/a b\"}"), Contains(HasSubstr("is not a path")));
  EXPECT_THAT(error_of("health: {path: /, interval: 10ms}"), Contains(HasSubstr("interval")));
  EXPECT_THAT(error_of("health: {path: /, healthy_after: 0}"),
              Contains(HasSubstr("healthy_after")));
  EXPECT_THAT(error_of("circuit: {failures: 0}"), Contains(HasSubstr("failures")));
  EXPECT_THAT(error_of("circuit: {open_for: 0s}"), Contains(HasSubstr("open_for")));
  EXPECT_THAT(error_of("circuit: {opens: 1}"), Contains(HasSubstr("opens")));
  EXPECT_THAT(error_of("circuit: on"), testing::Not(IsEmpty()));
}

TEST(ConfigUpstreams, ACircuitOfAnObservedRouteIsAWarning) {
  EXPECT_THAT(warnings_of(with_route("mode: observe, circuit: {failures: 5}")),
              ElementsAre(HasSubstr("has no effect with mode: observe")));
}

}  // namespace
}  // namespace semel::config::test
