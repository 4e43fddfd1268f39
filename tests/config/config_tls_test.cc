#include "config_support.h"

namespace semel::config {
namespace {

using namespace config::test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ConfigTls, IsPlainUnlessACertificateIsNamed) {
  EXPECT_FALSE(config_of(with_top("")).tls);
  const Config config = config_of(
      with_top("tls: {cert: a.pem, key: a.key, client_ca: ca.pem, client_cert: required}"));
  EXPECT_EQ(config.tls,
            (http::TlsServerFiles{"a.pem", "a.key", "ca.pem", http::ClientCertificate::required}));
  EXPECT_EQ(config_of(with_top("tls: {cert: a, key: b, client_ca: c}")).tls->client_cert,
            http::ClientCertificate::optional);
}

TEST(ConfigTls, SaysWhatIsMissingOrWrong) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{cert: a}", "tls.key: required; a PEM file"},
      {"{key: a}", "tls.cert: required; a PEM file"},
      {"{cert: a, key: b, client_cert: required}", "tls.client_cert: allowed only with client_ca"},
      {"{cert: a, key: b, client_ca: c, client_cert: on}",
       "tls.client_cert: 'on' is not allowed here; use optional, required"},
      {"{cert: a, key: b, ciphers: all}", "tls.ciphers: unknown key"},
      {"{cert: '', key: b}", "tls.cert: '' must be 1 to 4096 printable"},
      {"on", "tls: must be a mapping"},
  };
  for (const auto& [tls, expected] : cases) {
    EXPECT_THAT(errors_of(with_top("tls: " + tls)), ElementsAre(HasSubstr(expected))) << tls;
  }
}

TEST(ConfigTls, ReadsTheUpstreamsSideInLayers) {
  EXPECT_EQ(route_of("ttl: 1h").upstream_tls, http::TlsClientFiles{});
  const RouteConfig route = route_over("upstream_tls: {ca: ca.pem, cert: c.pem, key: c.key}",
                                       "upstream_tls: {ca: '', server_name: up.internal}");
  EXPECT_EQ(route.upstream_tls, (http::TlsClientFiles{"", "c.pem", "c.key", true, "up.internal"}));
}

TEST(ConfigTls, ChecksTheUpstreamsSide) {
  const auto route = [](const std::string& members) {
    return "tenant: {from: none}\nroutes:\n- {path: /*, upstream: https://up, " + members + "}\n";
  };
  EXPECT_THAT(errors_of(route("upstream_tls: {cert: a}")),
              ElementsAre(AllOf(HasSubstr("semel.yaml:3: routes[0].upstream_tls: cert and key"))));
  EXPECT_THAT(errors_of(route("upstream_tls: {server_name: 'a b'}")),
              ElementsAre(HasSubstr("upstream_tls.server_name: 'a b' is not a host name")));
  EXPECT_THAT(errors_of(route("upstream_tls: {verify: no}")),
              ElementsAre(HasSubstr("upstream_tls.verify: 'no' is not allowed here")));
  EXPECT_THAT(warnings_of(route("upstream_tls: {verify: false}")),
              ElementsAre(HasSubstr("upstream_tls.verify: false: anyone between")));
  EXPECT_THAT(warnings_of(with_route("upstream_tls: {ca: a}")),
              ElementsAre(HasSubstr("upstream_tls: has no effect without an https:// upstream")));
  EXPECT_THAT(warnings_of(route("upstream_tls: {ca: a}")), IsEmpty());
}

}  // namespace
}  // namespace semel::config
