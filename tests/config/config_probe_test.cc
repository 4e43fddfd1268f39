#include "config/config_support.h"
#include "config/probe_url.h"

namespace semel::config::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string probing(const std::string& url) {
  return with_route("unknown: probe, probe: {url: '" + url + "'}");
}

TEST(ConfigProbe, ReadsUrlAndTimeout) {
  const RouteConfig route = route_of(
      "unknown: probe, probe: {url: 'http://svc:81/o?key={key}&a={attempt}', timeout: 500ms}");
  EXPECT_EQ(route.operation.unknown, UnknownPolicy::probe);
  EXPECT_EQ(route.probe.url.address, (HostPort{"svc", 81}));
  EXPECT_EQ(route.probe.url.target, "/o?key={key}&a={attempt}");
  EXPECT_EQ(route.probe.timeout, std::chrono::milliseconds(500));
}

TEST(ConfigProbe, IsRequiredWhereItIsThePolicyAndIdleElsewhere) {
  EXPECT_THAT(errors_of(with_route("unknown: probe")),
              ElementsAre(HasSubstr("routes[0].probe: required with unknown: probe")));
  EXPECT_THAT(warnings_of(with_route("probe: {url: 'http://svc/{key}'}")),
              ElementsAre(HasSubstr("routes[0].probe: has no effect without unknown: probe")));
}

TEST(ConfigProbe, RefusesUrlsThatCannotAsk) {
  const auto refused = [](const std::string& url, const std::string& why) {
    EXPECT_THAT(errors_of(probing(url)),
                testing::Contains(testing::AllOf(HasSubstr("routes[0].probe.url"), HasSubstr(why))))
        << url;
  };
  refused("svc/{key}", "is not a URL");
  refused("http://svc/", "put {key} or {record} into it");
  refused("http://svc/{attempt}", "put {key} or {record} into it");
  refused("http://svc/{kye}", "has an unknown placeholder {kye}");
  refused("http://svc/{key", "an unmatched brace");
  refused("http://svc/key}", "an unmatched brace");
  refused("http://svc/{{key}}", "an unmatched brace");
}

TEST(ConfigProbe, AKeyThatTheExecutorNeverSeesIsNoQuestion) {
  EXPECT_THAT(errors_of(with_route(
                  "unknown: probe, forward_key: none, probe: {url: 'http://svc/{key}/{record}'}")),
              ElementsAre(HasSubstr("the executor never sees with forward_key: none")));
}

TEST(ConfigProbe, ValuesAreEscapedWhereverTheyStand) {
  EXPECT_EQ(fill_probe_target("/o/{record}/{attempt}?k={key}&t={token}#",
                              {"a b/ü?&=%", "00ff", "2", "ab"}),
            "/o/00ff/2?k=a%20b%2F%C3%BC%3F%26%3D%25&t=ab#");
}

}  // namespace
}  // namespace semel::config::test
