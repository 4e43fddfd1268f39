// What makes a route fit into an API that exists: names it had, what is forwarded, profiles.
#include "unit/config_support.h"

namespace semel::config_test {
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
  EXPECT_THAT(routes("path: /a, name: a", "path: /b, name: b, aliases: [a]"),
              ElementsAre("semel.yaml:5: routes[1].aliases: 'a' is a name of the operation on line "
                          "4; their keys would be mixed"));
  EXPECT_THAT(routes("path: /a, aliases: [old]", "path: /b, aliases: [old]"),
              ElementsAre(HasSubstr("'old' is a name of the operation on line 4")));
  EXPECT_THAT(routes("path: /a, name: a, aliases: [a]", "path: /b"),
              ElementsAre(HasSubstr("'a' is the route's own name")));
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

}  // namespace
}  // namespace semel::config_test
