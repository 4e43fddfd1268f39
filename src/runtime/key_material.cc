#include "runtime/key_material.h"

#include <algorithm>

#include "base/private_file.h"

namespace semel {
namespace {

using Clients = std::vector<std::shared_ptr<const net::TlsClient>>;

// Routes with the same TLS settings share one client, and with it their idle connections.
std::expected<Clients, std::string> load_upstreams(
    const std::vector<RouteConfig>& routes, const std::shared_ptr<const net::TlsClient>& own) {
  Clients clients(routes.size());
  for (std::size_t i = 0; i < routes.size(); ++i) {
    if (std::ranges::none_of(routes[i].upstreams, &Upstream::tls)) continue;
    for (std::size_t earlier = 0; earlier < i && !clients[i]; ++earlier) {
      if (routes[earlier].upstream_tls == routes[i].upstream_tls) clients[i] = clients[earlier];
    }
    if (routes[i].upstream_tls == net::TlsClientFiles{}) clients[i] = own;
    if (clients[i]) continue;
    auto client = net::TlsClient::load(routes[i].upstream_tls);
    if (!client) return std::unexpected("route " + routes[i].name + ": " + client.error());
    clients[i] = *std::move(client);
  }
  return clients;
}

std::expected<HashKeys, std::string> load_hash_keys(const std::string& file) {
  if (file.empty()) return HashKeys{};
  const auto text = read_private_file(file);
  if (!text) return std::unexpected("hash_key_file " + text.error());
  auto keys = parse_hash_keys(*text);
  if (!keys) return std::unexpected("hash_key_file " + file + ": " + keys.error());
  return keys;
}

}  // namespace

std::expected<KeyMaterial, std::string> KeyMaterial::load(const Config& config) {
  KeyMaterial key_material;
  if (config.tls) {
    auto server = net::TlsServer::load(*config.tls);
    if (!server) return std::unexpected("tls: " + server.error());
    key_material.server = *std::move(server);
  }
  auto own = net::TlsClient::load({});
  if (!own) return std::unexpected(std::move(own.error()));
  key_material.own = *std::move(own);
  auto upstreams = load_upstreams(config.routes, key_material.own);
  if (!upstreams) return std::unexpected(std::move(upstreams.error()));
  key_material.upstreams = *std::move(upstreams);
  if (config.tenant.from == TenantSource::jwt) {
    auto tokens = TokenKeys::load(config.tenant.jwt);
    if (!tokens) return std::unexpected("tenant: " + tokens.error());
    key_material.tokens = *std::move(tokens);
  }
  auto hash_keys = load_hash_keys(config.hash_key_file);
  if (!hash_keys) return std::unexpected(std::move(hash_keys.error()));
  key_material.hash_keys = *std::move(hash_keys);
  return key_material;
}

}  // namespace semel
