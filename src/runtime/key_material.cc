#include "runtime/key_material.h"

#include <algorithm>

#include "base/private_file.h"

namespace semel::runtime {
namespace {

using Clients = std::vector<std::shared_ptr<const http::TlsClient>>;

// Routes with the same TLS settings share one client, and with it their idle connections.
std::expected<Clients, std::string> load_upstreams(
    const std::vector<config::RouteConfig>& routes,
    const std::shared_ptr<const http::TlsClient>& own) {
  Clients clients(routes.size());
  for (std::size_t i = 0; i < routes.size(); ++i) {
    if (std::ranges::none_of(routes[i].upstreams, &config::Upstream::tls)) continue;
    for (std::size_t earlier = 0; earlier < i && !clients[i]; ++earlier) {
      if (routes[earlier].upstream_tls == routes[i].upstream_tls) clients[i] = clients[earlier];
    }
    if (routes[i].upstream_tls == http::TlsClientFiles{}) clients[i] = own;
    if (clients[i]) continue;
    auto client = http::TlsClient::load(routes[i].upstream_tls);
    if (!client) return std::unexpected("route " + routes[i].name + ": " + client.error());
    clients[i] = *std::move(client);
  }
  return clients;
}

std::expected<core::HashKeys, std::string> load_hash_keys(const std::string& file) {
  if (file.empty()) return core::HashKeys{};
  const auto text = base::read_private_file(file);
  if (!text) return std::unexpected("hash_key_file " + text.error());
  auto keys = core::parse_hash_keys(*text);
  if (!keys) return std::unexpected("hash_key_file " + file + ": " + keys.error());
  return keys;
}

}  // namespace

std::expected<KeyMaterial, std::string> KeyMaterial::load(
    const config::Config& config, const std::vector<config::RouteConfig>& routes) {
  KeyMaterial key_material;
  auto own = http::TlsClient::load({});
  if (!own) return std::unexpected(std::move(own.error()));
  key_material.own = *std::move(own);
  auto upstreams = load_upstreams(routes, key_material.own);
  if (!upstreams) return std::unexpected(std::move(upstreams.error()));
  key_material.upstreams = *std::move(upstreams);
  auto hash_keys = load_hash_keys(config.hash_key_file);
  if (!hash_keys) return std::unexpected(std::move(hash_keys.error()));
  key_material.hash_keys = *std::move(hash_keys);
  return key_material;
}

std::expected<KeyMaterial, std::string> KeyMaterial::load_for_gateway(
    const config::Config& config) {
  std::shared_ptr<const http::TlsServer> server;
  if (config.tls) {
    auto loaded = http::TlsServer::load(*config.tls);
    if (!loaded) return std::unexpected("tls: " + loaded.error());
    server = *std::move(loaded);
  }
  auto key_material = load(config, config.routes);
  if (!key_material) return key_material;
  key_material->server = std::move(server);
  if (config.tenant.from == config::TenantSource::jwt) {
    auto tokens = TokenKeys::load(config.tenant.jwt);
    if (!tokens) return std::unexpected("tenant: " + tokens.error());
    key_material->tokens = *std::move(tokens);
  }
  return key_material;
}

std::vector<std::string> KeyMaterial::find_problems(const config::Config& config) {
  std::vector<std::string> problems;
  const auto note = [&problems](const auto& loaded, const std::string& of = "") {
    if (!loaded) problems.push_back(of + loaded.error());
  };
  if (config.tls) note(http::TlsServer::load(*config.tls), "tls: ");
  for (const config::RouteConfig& route : config.routes) note(load_upstreams({route}, nullptr));
  for (const config::ConsumeConfig& entry : config.consume) {
    note(load_upstreams({entry.route}, nullptr));
  }
  note(load_hash_keys(config.hash_key_file));
  if (config.tenant.from == config::TenantSource::jwt) {
    note(TokenKeys::load(config.tenant.jwt), "tenant: ");
  }
  return problems;
}

}  // namespace semel::runtime
