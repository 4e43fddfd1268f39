#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "auth/jwt.h"
#include "config/address.h"
#include "http/tls.h"
#include "semel/time.h"

namespace semel::config {

// All events of a webhook's route belong to one tenant: the signature proves who sent them, the
// route says who that is.
inline constexpr std::string_view kWebhookTenant = "webhook";

enum class TenantSource { none, authorization, header, jwt, introspect, mtls };
struct JwtConfig : auth::JwtRules {
  std::string jwks_file;    // either this
  std::string secret_file;  // or this
};
struct IntrospectConfig {
  Url url;
  std::string tenant_header;
  Duration cache_for = std::chrono::seconds(10);
  Duration timeout = std::chrono::seconds(2);
};
struct TenantConfig {
  TenantSource from = TenantSource::none;
  std::vector<std::string> schemes;  // from: authorization; in addition to the usual ones
  std::string header_name;           // from: header
  JwtConfig jwt;                     // from: jwt
  IntrospectConfig introspect;       // from: introspect
  http::PeerName identity = http::PeerName::san;  // from: mtls
};

}  // namespace semel::config
