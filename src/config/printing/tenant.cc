#include "config/printing/tenant.h"

#include "config/printing/parts.h"

namespace semel::config::printing {
namespace {

std::string_view name_of(TenantSource from) {
  switch (from) {
    case TenantSource::none:
      return "none";
    case TenantSource::authorization:
      return "authorization";
    case TenantSource::header:
      return "header";
    case TenantSource::jwt:
      return "jwt";
    case TenantSource::introspect:
      return "introspect";
    case TenantSource::mtls:
      return "mtls";
  }
  return "";
}

void print_jwt(Yaml& out, const JwtConfig& jwt) {
  out.text("claim", jwt.claim);
  out.text_if_any("jwks_file", jwt.jwks_file);
  out.text_if_any("secret_file", jwt.secret_file);
  out.text_if_any("issuer", jwt.issuer);
  if (!jwt.audiences.empty()) out.texts("audience", jwt.audiences);
  out.duration("leeway", jwt.leeway);
}

}  // namespace

void print_tenant(Yaml& out, const TenantConfig& tenant) {
  out.mapping("tenant", [&] {
    out.text("from", name_of(tenant.from));
    switch (tenant.from) {
      case TenantSource::none:
        break;
      case TenantSource::authorization:
        out.texts("schemes", tenant.schemes);
        break;
      case TenantSource::header:
        out.text("name", tenant.header_name);
        break;
      case TenantSource::jwt:
        print_jwt(out, tenant.jwt);
        break;
      case TenantSource::introspect:
        out.url("url", text_of(tenant.introspect.url));
        out.text("tenant_header", tenant.introspect.tenant_header);
        out.duration("cache_for", tenant.introspect.cache_for);
        out.duration("timeout", tenant.introspect.timeout);
        break;
      case TenantSource::mtls:
        out.text("identity", tenant.identity == http::PeerName::san ? "san" : "subject");
        break;
    }
  });
}

}  // namespace semel::config::printing
