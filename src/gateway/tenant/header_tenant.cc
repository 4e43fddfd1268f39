#include "gateway/tenant/header_tenant.h"

#include <algorithm>

#include "base/base64.h"
#include "base/sha256.h"
#include "base/text.h"
#include "semel/driver/record.h"

namespace semel::gateway {
namespace {

// Schemes whose credentials stay the same from request to request. Others may sign each request
// anew, and a retry would then count as another tenant's.
constexpr std::string_view kStaticSchemes[] = {"Basic", "Bearer", "Token", "ApiKey", "Api-Key"};

bool names_scheme(const auto& schemes, std::string_view scheme) {
  return std::ranges::any_of(schemes,
                             [&](std::string_view one) { return http::iequals(one, scheme); });
}

// `Bearer "abc"` and `Bearer token=abc` are the same credential to lenient services.
std::string_view bare_credential(std::string_view credential) {
  const std::size_t equals = credential.find('=');
  if (equals < credential.find('.')) credential.remove_prefix(equals + 1);
  if (credential.starts_with('"')) credential.remove_prefix(1);
  return credential;
}

// Looks only at the beginning, so that it does not matter how the text ends.
bool is_json_object(std::string_view base64url) {
  constexpr std::size_t kLookedAtMax = 64;
  const std::size_t length = std::min(base64url.size(), kLookedAtMax) / 4 * 4;
  const auto decoded = base::decode_base64url(base64url.substr(0, length));
  if (!decoded) return false;
  const std::size_t first = decoded->find_first_not_of(" \t\r\n");
  return first != std::string::npos && (*decoded)[first] == '{';
}

// A JWS or JWE: dotted segments (one may be empty), the first of them base64url of a JSON object.
// Or a PASETO: v4.public.…
bool looks_like_signed_token(std::string_view credential) {
  credential = bare_credential(credential);
  const std::size_t dot = credential.find('.');
  if (dot == std::string_view::npos) return false;
  const std::string_view first = credential.substr(0, dot);
  const std::string_view rest = credential.substr(dot + 1);
  const bool is_paseto = first.size() == 2 && first[0] == 'v' &&
                         (rest.starts_with("local.") || rest.starts_with("public."));
  return is_paseto || (rest.find('.') != std::string_view::npos && is_json_object(first));
}

std::expected<std::string, std::string> from_authorization(const config::TenantConfig& config,
                                                           const http::Request& request) {
  if (request.count("Authorization") > 1) {
    return std::unexpected("Send one Authorization header, not several.");
  }
  const auto value = request.field("Authorization");
  constexpr std::string_view kBlanks = " \t";
  const std::size_t scheme_end = value ? std::min(value->find_first_of(kBlanks), value->size()) : 0;
  const std::string_view scheme = value ? value->substr(0, scheme_end) : std::string_view();
  std::string_view credential = value ? value->substr(scheme_end) : std::string_view();
  credential.remove_prefix(std::min(credential.find_first_not_of(kBlanks), credential.size()));
  const bool is_known =
      names_scheme(kStaticSchemes, scheme) || names_scheme(config.schemes, scheme);
  // The name of a scheme alone is nobody's credential.
  if (scheme.empty() || (credential.empty() && is_known)) {
    return std::unexpected("Send your credential in the Authorization header.");
  }
  if (!credential.empty() && !is_known) {
    return std::unexpected(
        "A credential of this scheme may change with every request, so a retry could not be "
        "recognised. This route takes static API keys.");
  }
  if (looks_like_signed_token(credential) || looks_like_signed_token(*value)) {
    return std::unexpected(
        "A signed token changes when it is refreshed, so a retry could not be recognised. This "
        "route takes static API keys.");
  }
  // The name of a scheme is case-insensitive. A single word without a scheme is a credential, in
  // which case tells two tenants apart.
  const bool has_scheme = !credential.empty();
  base::Sha256 digest;
  digest.update_sized(has_scheme ? base::lower_case(scheme) : std::string(scheme));
  digest.update_sized(credential);
  return RecordId{digest.finish()}.hex();
}

std::expected<std::string, std::string> from_header(const config::TenantConfig& config,
                                                    const http::Request& request, bool trusted) {
  if (!trusted) {
    return std::unexpected("The tenant is taken from a header only if a trusted proxy sent it.");
  }
  if (request.count(config.header_name) > 1) {
    return std::unexpected("The header " + config.header_name + " was sent more than once.");
  }
  const auto value = request.field(config.header_name);
  if (!value || value->empty()) {
    return std::unexpected("The header " + config.header_name + " is missing.");
  }
  return std::string(*value);
}

}  // namespace

std::expected<std::string, std::string> find_tenant(const config::TenantConfig& config,
                                                    const http::Request& request,
                                                    bool from_trusted_proxy) {
  switch (config.from) {
    case config::TenantSource::none:
      return std::string();
    case config::TenantSource::authorization:
      return from_authorization(config, request);
    case config::TenantSource::header:
      return from_header(config, request, from_trusted_proxy);
    case config::TenantSource::jwt:
    case config::TenantSource::introspect:
    case config::TenantSource::mtls:
      break;  // handled in caller.cc
  }
  return std::unexpected("no tenant source");
}

}  // namespace semel::gateway
