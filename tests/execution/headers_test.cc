// Which fields of a request are passed on, and which traceparent is one.
#include "execution/headers.h"

#include <gtest/gtest.h>

#include "http/fields/traceparent.h"

namespace semel::execution {
namespace {

TEST(Traceparent, IsOneOrNot) {
  const std::string sound = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  EXPECT_TRUE(http::is_traceparent(sound));
  EXPECT_TRUE(http::is_traceparent("01" + sound.substr(2)));
  EXPECT_TRUE(http::is_traceparent("fe" + sound.substr(2) + "-what comes later"));
  for (const std::string& bad : std::vector<std::string>{
           "", sound.substr(1), sound + "0", sound + "-00", "ff" + sound.substr(2),
           "0A" + sound.substr(2), "01" + sound.substr(2) + "x", sound.substr(0, 54),
           "00-" + std::string(32, '0') + "-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
           "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", " " + sound, sound + " ",
           "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
           "fe" + sound.substr(2) + "-" + std::string(300, 'a')}) {
    EXPECT_FALSE(http::is_traceparent(bad)) << bad;
  }
}

TEST(PassedOn, IsNeitherRemovedByConnectionNorImitated) {
  config::RouteConfig route;
  route.key.header = "X_Key";  // whoever names it so gets it so
  route.fingerprint.headers = {"x-version"};
  route.webhook.emplace();
  route.webhook->scheme.signature_header = "X-Signature";
  route.webhook->scheme.id_headers = {"X-Event-Id"};
  config::TenantConfig tenant;
  tenant.header_name = "X-Tenant";
  const std::vector<http::Field> fields = {
      {"Connection", "X-Hop, Authorization, x-tenant, X_Key, X-Version,X-Signature, X-Event-Id"},
      {"Connection", "close, Host, Content-Length, Cookie"}};
  const PassedOn passed_on(fields, tenant, route);
  for (const char* name : {"Host", "authorization", "X-Tenant", "X_Key", "X-Version", "X-Signature",
                           "X-Event-Id", "Content-Length", "Cookie", "Accept", "api_key"}) {
    EXPECT_TRUE(passed_on.contains(name)) << name;
  }
  for (const char* name :
       {"X-Hop", "Connection", "Keep_Alive", "transfer_encoding", "X_Tenant", "X.Tenant", "X-Key",
        "X_Version", "x_signature", "X_Event-Id", "Semel-Token", "semel_token", "Content_Length",
        "X_Forwarded_For", "Idempotency_Key", "Traceparent", "Tracestate"}) {
    EXPECT_FALSE(passed_on.contains(name)) << name;
  }
}

}  // namespace
}  // namespace semel::execution
