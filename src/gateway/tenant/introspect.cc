#include "gateway/tenant/introspect.h"

#include "base/sha256.h"
#include "runtime/worker.h"
#include "telemetry/log.h"

namespace semel::gateway {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

constexpr std::size_t kTenantBytesMax = 1024;

// Includes the service: after a reload another one may be asked.
base::Sha256Digest digest_of(const config::IntrospectConfig& config, const Credential& credential) {
  base::Sha256 digest;
  digest.update_sized(config.url.authority())
      .update_sized(config.url.target)
      .update_sized(config.tenant_header)
      .update_sized(credential.authorization)
      .update_sized(credential.cookie);
  return digest.finish();
}

Introspected read_answer(const config::IntrospectConfig& config,
                         const http::Client::Answer& answer) {
  if (answer.status == 401 || answer.status == 403) return introspected::Refused{};
  if (answer.status < 200 || answer.status > 299) {
    telemetry::log_event(config::LogLevel::warn, "introspection failed",
                         {{"why", "status " + std::to_string(answer.status)}});
    return introspected::Unavailable{};
  }
  std::optional<std::string> tenant;
  for (const Header& header : answer.headers) {
    if (!http::iequals(header.name, config.tenant_header)) continue;
    if (tenant) {
      telemetry::log_event(config::LogLevel::warn, "introspection failed",
                           {{"why", "more than one " + config.tenant_header}});
      return introspected::Unavailable{};
    }
    tenant = header.value;
  }
  if (!tenant || tenant->empty() || tenant->size() > kTenantBytesMax) {
    telemetry::log_event(config::LogLevel::warn, "introspection named nobody",
                         {{"why", "no usable " + config.tenant_header}});
    return introspected::Refused{};
  }
  return introspected::Tenant{*std::move(tenant)};
}

}  // namespace

std::optional<Credential> credential_of(const http::Request& message) {
  Credential credential;
  if (message.count("Authorization") > 1) return std::nullopt;
  credential.authorization = message.field("Authorization").value_or("");
  for (const http::Field& field : message.fields()) {
    if (!http::iequals(field.name, "Cookie")) continue;
    if (!credential.cookie.empty()) credential.cookie += "; ";
    credential.cookie += field.value;
  }
  if (credential.authorization.empty() && credential.cookie.empty()) return std::nullopt;
  return credential;
}

awaitable<Introspected> introspect(runtime::Worker& worker, runtime::ActiveConfigPtr settings,
                                   Credential credential) {
  const config::IntrospectConfig& config = settings->config.tenant.introspect;
  const base::Sha256Digest digest = digest_of(config, credential);
  const SteadyTime asked_at = worker.services().clock.steady();
  if (auto known = worker.introspections().find(digest, asked_at)) {
    co_return introspected::Tenant{*std::move(known)};
  }
  http::Client::Request request;
  request.target = config.url.target;
  if (!credential.authorization.empty()) {
    request.headers.push_back({"Authorization", std::move(credential.authorization)});
  }
  if (!credential.cookie.empty()) {
    request.headers.push_back({"Cookie", std::move(credential.cookie)});
  }
  http::Client client = worker.client_to(config.url);
  auto answer = co_await client.ask(std::move(request), config.timeout);
  if (!answer) {
    telemetry::log_event(config::LogLevel::warn, "introspection failed", {{"why", answer.error()}});
    co_return introspected::Unavailable{};
  }
  Introspected found = read_answer(config, *answer);
  const auto* tenant = std::get_if<introspected::Tenant>(&found);
  if (tenant && config.cache_for > Duration{0}) {
    // Counted from the question, so that what the service knew is never older than cache_for.
    worker.introspections().put(digest, tenant->name, after(asked_at, config.cache_for),
                                worker.services().clock.steady());
  }
  co_return found;
}

}  // namespace semel::gateway
