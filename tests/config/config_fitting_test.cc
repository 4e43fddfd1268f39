// Options that fit a route into an existing API: former names, forwarding, profiles.
#include "config/config_support.h"

namespace semel::config::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ConfigFitting, ReadsForwardKey) {
  EXPECT_EQ(route_of("").forward_key, ForwardKey::as_is);
  EXPECT_EQ(route_of("forward_key: derived").forward_key, ForwardKey::derived);
  EXPECT_EQ(route_of("forward_key: none").forward_key, ForwardKey::none);
}

TEST(ConfigFitting, ReadsAliases) {
  EXPECT_THAT(route_of("").aliases, IsEmpty());
  EXPECT_THAT(route_of("name: charges, aliases: [/v1/charges, pay]").aliases,
              ElementsAre("/v1/charges", "pay"));
}

TEST(ConfigFitting, RefusesAliasesThatWouldMixKeys) {
  const auto routes = [](const std::string& first, const std::string& second) {
    return errors_of("tenant: {from: none}\ndefaults: {upstream: http://up}\nroutes:\n- {" + first +
                     "}\n- {" + second + "}\n");
  };
  EXPECT_THAT(
      routes("path: /a, name: a", "path: /b, name: b, aliases: [a]"),
      ElementsAre("semel.yaml:5: routes[1].aliases: 'a' already names the operation on line "
                  "4; their keys would be mixed"));
  EXPECT_THAT(routes("path: /a, aliases: [old]", "path: /b, aliases: [old]"),
              ElementsAre(HasSubstr("'old' already names the operation on line 4")));
  EXPECT_THAT(routes("path: /a, name: a, aliases: [a]", "path: /b"),
              ElementsAre(HasSubstr("'a' is the route's current name")));
  EXPECT_THAT(routes("path: /a, aliases: [x, x]", "path: /b"),
              ElementsAre(HasSubstr("routes[0].aliases[1]: 'x' is listed twice")));
  EXPECT_THAT(routes("path: /a, aliases: ['']", "path: /b"),
              ElementsAre(HasSubstr("must be 1 to 128 printable")));
  EXPECT_THAT(routes("path: /a, aliases: [1, 2, 3, 4, 5, 6, 7, 8, 9]", "path: /b"),
              ElementsAre(HasSubstr("8")));
  // A route without keys has none to be mixed.
  EXPECT_THAT(routes("path: /a, name: a, methods: []", "path: /b, aliases: [a]"), IsEmpty());
}

TEST(ConfigFitting, RefusesAliasesInDefaultsAndWarnsWhereTheyDoNothing) {
  EXPECT_THAT(errors_of("defaults: {aliases: [old]}\n" + with_route("name: a")),
              ElementsAre(HasSubstr("belongs to a route")));
  EXPECT_THAT(warnings_of(with_route("aliases: [old], scope: tenant")),
              ElementsAre(HasSubstr("aliases: has no effect with scope: tenant")));
}

TEST(ConfigFitting, ReadsModeResourceAndReauthorize) {
  EXPECT_EQ(route_of("").mode, Mode::enforce);
  EXPECT_EQ(route_of("mode: observe").mode, Mode::observe);
  EXPECT_FALSE(route_of("").reauthorize);
  EXPECT_FALSE(route_over("reauthorize: http://auth/", "reauthorize: ''").reauthorize);
  const RouteConfig route =
      route_of("reauthorize: 'http://auth:81/may?a=1', resource: {type: charge, id: /data/id}");
  EXPECT_EQ(route.reauthorize->address, (HostPort{"auth", 81}));
  EXPECT_EQ(route.reauthorize->target, "/may?a=1");
  EXPECT_EQ(route.resource.type, "charge");
  EXPECT_EQ(route.resource.id, "/data/id");
  EXPECT_EQ(route_of("resource: {type: charge, id: Location}").resource.id, "Location");
}

TEST(ConfigFitting, RefusesBadModeResourceAndReauthorize) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"mode: watch", "mode: 'watch'"},
      {"reauthorize: auth", "reauthorize: 'auth'"},
      {"reauthorize: 'ftp://auth/'", "reauthorize: 'ftp://auth/'"},
      {"resource: {type: charge}", "resource: needs both"},
      {"resource: {id: /id}", "resource: needs both"},
      {"resource: {type: a, id: 'not a header'}", "resource.id: 'not a header'"},
      {"resource: {type: a, id: /a~2}", "resource.id: '/a~2' is not a JSON Pointer"},
      {"resource: {kind: a}", "resource.kind: unknown key"},
      {"profile: braintree",
       "'braintree' is not a profile; use ietf, stripe, adyen, paypal, square, increase, telnyx"},
  };
  for (const auto& [members, expected] : cases) {
    EXPECT_THAT(errors_of(with_route(members)), testing::Contains(HasSubstr(expected))) << members;
  }
}

TEST(ConfigFitting, RefusesMembersThatCannotBeDescribed) {
  std::string many = "describe: [/0";
  for (int i = 1; i <= 16; ++i) many += ", /" + std::to_string(i);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"describe: amount", "describe: must be a list"},
      {"describe: [amount]", "describe[0]: 'amount' is not a JSON Pointer"},
      {"describe: [/a, '']", "describe[1]: '' is not a JSON Pointer"},
      {"describe: [/a~2]", "describe[0]: '/a~2' is not a JSON Pointer"},
      {"describe: [/items/*/id]", "'*' is not allowed here"},
      {"describe: [/items/*]", "'*' is not allowed here"},
      {"describe: [/a, /a]", "describe[1]: '/a' is listed twice"},
      {"describe: [/" + std::string(128, 'x') + "]", "at most 128 characters"},
      {many + "]", "describe: "},
  };
  for (const auto& [members, expected] : cases) {
    EXPECT_THAT(errors_of(with_route(members)), testing::Contains(HasSubstr(expected))) << members;
  }
  EXPECT_THAT(route_over("describe: [/a]", "describe: []").describe, testing::IsEmpty());
}

// With store_keys: digest nobody may find the key in a record.
TEST(ConfigFitting, RefusesToDescribeAKeyThatIsKeptAsADigest) {
  const std::string key = "key: {from: pointer, pointer: /order/id}, describe: ";
  for (const char* members : {"[/amount, /order/id]", "[/order]"}) {
    EXPECT_THAT(errors_of("store_keys: digest\n" + with_route(key + members)),
                testing::Contains(HasSubstr("from which the route takes its key")))
        << members;
    EXPECT_THAT(errors_of(with_route(key + members)), testing::IsEmpty());
  }
  EXPECT_THAT(errors_of("store_keys: digest\n" + with_route(key + "[/order/idx, /ord]")),
              testing::IsEmpty());
}

TEST(ConfigFitting, ProfilesSetTheirKeys) {
  const RouteConfig adyen = route_of("profile: adyen");
  EXPECT_EQ(adyen.key.rules.max_length, 64u);
  EXPECT_EQ(adyen.operation.ttl, std::chrono::days(7));
  EXPECT_EQ(adyen.errors, core::ErrorShape::flat);
  const RouteConfig paypal = route_of("profile: paypal");
  EXPECT_EQ(paypal.key.header, "PayPal-Request-Id");
  EXPECT_EQ(paypal.operation.ttl, std::chrono::days(45));
  const RouteConfig square = route_of("profile: square");
  EXPECT_EQ(square.key.from, KeySource::pointer);
  EXPECT_EQ(square.key.pointer, "/idempotency_key");
  EXPECT_TRUE(square.key.required);
  EXPECT_EQ(square.status_mismatch, 400);
  const RouteConfig increase = route_of("profile: increase");
  EXPECT_EQ(increase.status_mismatch, 409);
  EXPECT_EQ(increase.replayed_header, "Idempotent-Replayed");
  EXPECT_EQ(increase.key.rules.max_length, 200u);
  const RouteConfig telnyx = route_of("profile: telnyx");
  EXPECT_EQ(kind_of(telnyx, 200), OutcomeKind::final);
  EXPECT_EQ(kind_of(telnyx, 404), OutcomeKind::retry);
  EXPECT_EQ(kind_of(telnyx, 500), OutcomeKind::retry);
  EXPECT_EQ(kind_of(telnyx, 502), OutcomeKind::unknown);
  // The route's own word wins.
  EXPECT_EQ(route_of("profile: adyen, ttl: 1h").operation.ttl, std::chrono::hours(1));
  EXPECT_EQ(kind_of(route_of("profile: telnyx, outcomes: {final: [404]}"), 404),
            OutcomeKind::final);
}

}  // namespace
}  // namespace semel::config::test
