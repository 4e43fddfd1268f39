#include <string>

#include "config/config.h"
#include "config/config_support.h"

// Settings that a route takes from itself, from defaults and from its profile.
namespace semel::config::test {
namespace {

using std::chrono::hours;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ConfigLayers, DefaultsLieUnderARoute) {
  const RouteConfig route = route_over(
      "ttl: 1h, key: {required: true, min_length: 9}, statuses: {mismatch: 400}, methods: [PUT], "
      "replay_headers: {deny: [A]}, fingerprint: {query: false}",
      "ttl: 2h, key: {min_length: 10}, statuses: {in_progress: 425}, "
      "replay_headers: {allow: [B]}, fingerprint: {body: raw}");
  EXPECT_EQ(route.operation.ttl, hours(2));
  EXPECT_TRUE(route.key.required);
  EXPECT_EQ(route.key.rules.min_length, 10u);
  EXPECT_EQ(route.status_mismatch, 400);
  EXPECT_EQ(route.status_in_progress, 425);
  EXPECT_THAT(route.methods, ElementsAre("PUT"));
  EXPECT_THAT(route.replay_headers_deny, ElementsAre("a"));
  EXPECT_THAT(route.replay_headers_allow, ElementsAre("b"));
  EXPECT_FALSE(route.fingerprint.query);
  EXPECT_EQ(route.fingerprint.body, BodyFingerprint::raw);
}

TEST(ConfigLayers, ARouteCanSayWhatIsBuiltInAgain) {
  EXPECT_EQ(route_over("hold_for: 1d", "hold_for: never").operation.hold_for, Duration::max());
  EXPECT_EQ(route_over("key: {pointer: /id}", "key: {pointer: ''}").key.pointer, "");
  EXPECT_EQ(route_over("docs_url: /a", "docs_url: ''").docs_url, "");
}

TEST(ConfigLayers, ReportsAnErrorInDefaultsOnce) {
  const std::string routes = with_paths({"/a", "/b"});
  EXPECT_THAT(errors_of("defaults: {ttll: 1h}\n" + routes),
              ElementsAre("semel.yaml:1: defaults.ttll: unknown key; did you mean 'ttl'?"));
  EXPECT_THAT(errors_of("defaults: {name: a, path: /x}\n" + routes),
              ElementsAre("semel.yaml:1: defaults.name: belongs to a route, not to defaults",
                          "semel.yaml:1: defaults.path: belongs to a route, not to defaults"));
  EXPECT_THAT(errors_of("defaults: []\n" + routes),
              ElementsAre(HasSubstr("defaults: must be a mapping")));
}

TEST(ConfigLayers, TheStripeProfileSetsAFamilyOfKeys) {
  const RouteConfig route = route_of("profile: stripe");
  EXPECT_EQ(route.status_mismatch, 400);
  EXPECT_EQ(route.status_in_progress, 409);
  EXPECT_EQ(route.errors, core::ErrorShape::nested);
  EXPECT_EQ(route.replayed_header, "Idempotent-Replayed");
  for (const int status : {200, 400, 402, 500, 501, 505}) {
    EXPECT_EQ(kind_of(route, status), OutcomeKind::final) << status;
  }
  for (const int status : {401, 403, 429, 503}) {
    EXPECT_EQ(kind_of(route, status), OutcomeKind::retry) << status;
  }
  for (const int status : {502, 504}) {
    EXPECT_EQ(kind_of(route, status), OutcomeKind::unknown) << status;
  }
}

TEST(ConfigLayers, AProfileLiesUnderDefaultsAndTheRoute) {
  const RouteConfig by_defaults = route_over("profile: stripe, errors: flat", "");
  EXPECT_EQ(by_defaults.status_mismatch, 400);
  EXPECT_EQ(by_defaults.errors, core::ErrorShape::flat);

  const RouteConfig by_route =
      route_over("errors: flat", "profile: stripe, statuses: {mismatch: 409}");
  EXPECT_EQ(by_route.errors, core::ErrorShape::flat);
  EXPECT_EQ(by_route.status_mismatch, 409);
  EXPECT_EQ(by_route.replayed_header, "Idempotent-Replayed");

  const RouteConfig back = route_over("profile: stripe", "profile: ietf");
  EXPECT_EQ(back.status_mismatch, 422);
  EXPECT_EQ(kind_of(back, 500), OutcomeKind::retry);
}

TEST(ConfigLayers, OutcomesChangeOnlyWhatTheyList) {
  const RouteConfig route =
      route_of("outcomes: {final: [5XX, 409], retry: [404, 503], unknown: [500]}");
  EXPECT_EQ(kind_of(route, 501), OutcomeKind::final);
  EXPECT_EQ(kind_of(route, 404), OutcomeKind::retry);
  EXPECT_EQ(kind_of(route, 503), OutcomeKind::retry);
  EXPECT_EQ(kind_of(route, 500), OutcomeKind::unknown);
  EXPECT_EQ(kind_of(route, 429), OutcomeKind::retry);
  EXPECT_EQ(kind_of(route, 200), OutcomeKind::final);
}

TEST(ConfigLayers, OutcomesOfARouteWinOverThoseBelow) {
  const RouteConfig route =
      route_over("outcomes: {retry: [500, 404]}", "profile: stripe, outcomes: {final: [404, 503]}");
  EXPECT_EQ(kind_of(route, 404), OutcomeKind::final);
  EXPECT_EQ(kind_of(route, 503), OutcomeKind::final);
  EXPECT_EQ(kind_of(route, 500), OutcomeKind::retry);
  EXPECT_EQ(kind_of(route, 501), OutcomeKind::final);

  const RouteConfig preset = route_over("outcomes: {final: [500]}", "outcomes: cautious");
  EXPECT_EQ(kind_of(preset, 500), OutcomeKind::unknown);
  const RouteConfig over_preset = route_over("outcomes: cautious", "outcomes: {final: [501]}");
  EXPECT_EQ(kind_of(over_preset, 500), OutcomeKind::unknown);
  EXPECT_EQ(kind_of(over_preset, 501), OutcomeKind::final);
}

}  // namespace
}  // namespace semel::config::test
