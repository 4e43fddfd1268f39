#include "gateway/tenant/caller.h"

#include "auth/jwt.h"
#include "gateway/tenant/header_tenant.h"
#include "gateway/tenant/introspect.h"

namespace semel::gateway {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

std::unexpected<core::Problem> unknown(std::string detail) {
  return std::unexpected(
      core::Problem{.code = core::Code::tenant_unknown, .detail = std::move(detail)});
}

// Returns "" unless there is exactly one bearer token.
std::string_view bearer_token(const http::Request& message) {
  constexpr std::string_view kScheme = "Bearer ";
  if (message.count("Authorization") != 1) return {};
  std::string_view value = *message.field("Authorization");
  if (!http::iequals(value.substr(0, kScheme.size()), kScheme)) return {};
  value.remove_prefix(kScheme.size());
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  return value;
}

Caller from_jwt(const execution::ClientRequest& request) {
  const auto keys = request.settings->key_material.tokens->current();
  auto tenant = tenant_of_token(*keys, request.settings->config.tenant.jwt, request.message,
                                request.services().clock.now());
  if (!tenant) return unknown(std::move(tenant.error()));
  return *std::move(tenant);
}

Caller from_certificate(const execution::ClientRequest& request) {
  auto name = request.client.peer_name(request.settings->config.tenant.identity);
  if (!name) return unknown("A client certificate with a usable name is required.");
  return *std::move(name);
}

}  // namespace

std::expected<std::string, std::string> tenant_of_token(const auth::JwtKeys& keys,
                                                        const config::JwtConfig& config,
                                                        const http::Request& message, Time now) {
  const std::string_view token = bearer_token(message);
  if (token.empty()) return std::unexpected("Send one token, as Authorization: Bearer.");
  return auth::verify_jwt(keys, config, token, now);
}

std::optional<Caller> find_caller(const execution::ClientRequest& request) {
  const config::TenantConfig& config = request.settings->config.tenant;
  switch (config.from) {
    case config::TenantSource::introspect:
      return std::nullopt;
    case config::TenantSource::jwt:
      return from_jwt(request);
    case config::TenantSource::mtls:
      return from_certificate(request);
    case config::TenantSource::none:
    case config::TenantSource::authorization:
    case config::TenantSource::header:
      break;
  }
  auto tenant = find_tenant(config, request.message, request.forwarded.from_trusted_proxy);
  if (!tenant) return unknown(std::move(tenant.error()));
  return *std::move(tenant);
}

awaitable<Caller> ask_caller(execution::ClientRequest& request) {
  auto credential = credential_of(request.message);
  if (!credential) co_return unknown("Send your credential exactly once.");
  Introspected found =
      co_await introspect(request.worker, request.settings, *std::move(credential));
  if (auto* tenant = std::get_if<introspected::Tenant>(&found)) co_return std::move(tenant->name);
  if (std::holds_alternative<introspected::Refused>(found)) {
    co_return unknown("Your credential was not accepted.");
  }
  core::Problem problem{
      .code = core::Code::tenant_unknown,
      .status = 503,
      .detail =
          "The caller cannot be identified at the moment, so nothing was executed. "
          "Retry with the same key."};
  co_return std::unexpected(std::move(problem));
}

}  // namespace semel::gateway
