#include "config_support.h"

namespace semel::config {
namespace {

using namespace config::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ConfigTenant, ReadsJwt) {
  const TenantConfig tenant =
      config_of(with_top("tenant: {from: jwt, claim: /org/id, jwks_file: a.json, issuer: "
                         "https://id, audience: [a, b], leeway: 5s}"))
          .tenant;
  EXPECT_EQ(tenant.from, TenantSource::jwt);
  EXPECT_EQ(tenant.jwt.claim, "/org/id");
  EXPECT_EQ(tenant.jwt.jwks_file, "a.json");
  EXPECT_EQ(tenant.jwt.issuer, "https://id");
  EXPECT_THAT(tenant.jwt.audiences, ElementsAre("a", "b"));
  EXPECT_EQ(tenant.jwt.leeway, std::chrono::seconds(5));
  const JwtConfig usual =
      config_of(with_top("tenant: {from: jwt, secret_file: s, issuer: i, audience: a}")).tenant.jwt;
  EXPECT_EQ(usual.claim, "sub");
  EXPECT_EQ(usual.secret_file, "s");
  EXPECT_THAT(usual.audiences, ElementsAre("a"));
  EXPECT_EQ(usual.leeway, std::chrono::seconds(30));
}

TEST(ConfigTenant, ReadsIntrospect) {
  const TenantConfig tenant =
      config_of(with_top("tenant: {from: introspect, url: 'https://auth/who?x=1', tenant_header: "
                         "X-T, cache_for: 0, timeout: 500ms}"))
          .tenant;
  EXPECT_EQ(tenant.from, TenantSource::introspect);
  EXPECT_TRUE(tenant.introspect.url.tls);
  EXPECT_EQ(tenant.introspect.url.target, "/who?x=1");
  EXPECT_EQ(tenant.introspect.tenant_header, "X-T");
  EXPECT_EQ(tenant.introspect.cache_for, Duration(0));
  EXPECT_EQ(tenant.introspect.timeout, Duration(500));
}

TEST(ConfigTenant, ReadsMtls) {
  const std::string tls = "tls: {cert: a, key: b, client_ca: c}\n";
  EXPECT_EQ(config_of(with_top(tls + "tenant: {from: mtls}")).tenant.identity, http::PeerName::san);
  EXPECT_EQ(config_of(with_top(tls + "tenant: {from: mtls, identity: subject}")).tenant.identity,
            http::PeerName::subject);
  for (const char* without : {"", "tls: {cert: a, key: b}\n"}) {
    EXPECT_THAT(errors_of(with_top(std::string(without) + "tenant: {from: mtls}")),
                ElementsAre(HasSubstr("tenant.from: mtls needs tls.client_ca")));
  }
}

TEST(ConfigTenant, SaysWhatIsMissingOrWrong) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{from: jwt, issuer: i, audience: a}", "tenant.jwks_file: jwt needs either"},
      {"{from: jwt, issuer: i, audience: a, jwks_file: a, secret_file: b}", "jwt needs either"},
      {"{from: jwt, issuer: i, audience: a, jwks_file: a, claim: '/a/*'}",
       "'/a/*' is not a JSON Pointer to one claim"},
      {"{from: jwt, issuer: i, audience: a, jwks_file: a, claim: ''}", "tenant.claim: ''"},
      {"{from: jwt, issuer: i, audience: a, jwks_file: a, leeway: 1h}",
       "tenant.leeway: '1h' is out"},
      {"{from: jwt, issuer: i, audience: a, jwks_file: a, url: 'http://a'}",
       "tenant.url: allowed only with from: introspect; remove it"},
      {"{from: introspect, tenant_header: X}", "tenant.url: required with from: introspect"},
      {"{from: introspect, url: 'http://a'}", "tenant.tenant_header: required with"},
      {"{from: introspect, url: a, tenant_header: X}", "tenant.url: 'a' is not a URL"},
      {"{from: introspect, url: 'http://a', tenant_header: 'X Y'}", "'X Y' is not a header"},
      {"{from: introspect, url: 'http://a', tenant_header: X, cache_for: 6m}", "out of range"},
      {"{from: none, claim: sub}", "tenant.claim: allowed only with from: jwt; remove it"},
      {"{from: none, identity: san}", "tenant.identity: allowed only with from: mtls; remove it"},
  };
  for (const auto& [tenant, expected] : cases) {
    EXPECT_THAT(errors_of(with_top("tenant: " + tenant)), ElementsAre(HasSubstr(expected)))
        << tenant;
  }
}

TEST(ConfigTenant, WarnsOfTokensThatAreForSomebodyElse) {
  EXPECT_THAT(
      warnings_of(with_top("tenant: {from: jwt, jwks_file: a}")),
      ElementsAre(HasSubstr("tenant.audience: not set: tokens of any audience are accepted"),
                  HasSubstr("tenant.issuer: not set: tokens of any issuer are accepted")));
  EXPECT_THAT(warnings_of(with_top("tenant: {from: jwt, jwks_file: a, issuer: i, audience: a}")),
              IsEmpty());
}

}  // namespace
}  // namespace semel::config
