#include "gateway/tenant/caller.h"

#include "auth/jwt.h"
#include "gateway/tenant/introspect.h"
#include "runtime/tenant.h"

namespace semel {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

std::unexpected<Problem> unknown(std::string detail) {
  return std::unexpected(Problem{.code = Code::tenant_unknown, .detail = std::move(detail)});
}

// Returns "" unless there is exactly one bearer token.
std::string_view bearer_token(const net::Request& message) {
  constexpr std::string_view kScheme = "Bearer ";
  if (message.count("Authorization") != 1) return {};
  std::string_view value = *message.field("Authorization");
  if (!net::iequals(value.substr(0, kScheme.size()), kScheme)) return {};
  value.remove_prefix(kScheme.size());
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  return value;
}

Caller from_jwt(const ClientRequest& request) {
  const std::string_view token = bearer_token(request.message);
  if (token.empty()) return unknown("Send one token, as Authorization: Bearer.");
  const JwtConfig& config = request.settings->config.tenant.jwt;
  const auto keys = request.settings->key_material.tokens->current();
  auto tenant = verify_jwt(*keys, config, token, request.services().clock.now());
  if (!tenant) return unknown(std::move(tenant.error()));
  return *std::move(tenant);
}

Caller from_certificate(const ClientRequest& request) {
  auto name = request.client.peer_name(request.settings->config.tenant.identity);
  if (!name) return unknown("Show a client certificate that names you.");
  return *std::move(name);
}

}  // namespace

std::optional<Caller> find_caller(const ClientRequest& request) {
  const TenantConfig& config = request.settings->config.tenant;
  switch (config.from) {
    case TenantSource::introspect:
      return std::nullopt;
    case TenantSource::jwt:
      return from_jwt(request);
    case TenantSource::mtls:
      return from_certificate(request);
    case TenantSource::none:
    case TenantSource::authorization:
    case TenantSource::header:
      break;
  }
  auto tenant = find_tenant(config, request.message, request.forwarded.from_trusted_proxy);
  if (!tenant) return unknown(std::move(tenant.error()));
  return *std::move(tenant);
}

awaitable<Caller> ask_caller(ClientRequest& request) {
  auto credential = credential_of(request.message);
  if (!credential) co_return unknown("Send your credential, once.");
  Introspected found =
      co_await introspect(request.worker, request.settings, *std::move(credential));
  if (auto* tenant = std::get_if<introspected::Tenant>(&found)) co_return std::move(tenant->name);
  if (std::holds_alternative<introspected::Refused>(found)) {
    co_return unknown("Your credential was not accepted.");
  }
  Problem problem{.code = Code::tenant_unknown,
                  .status = 503,
                  .detail =
                      "Who is asking cannot be established at the moment, so nothing was "
                      "executed. Retry with the same key."};
  co_return std::unexpected(std::move(problem));
}

}  // namespace semel
