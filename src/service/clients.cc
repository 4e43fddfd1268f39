#include "service/clients.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/private_file.h"
#include "base/text.h"

namespace semel::service {
namespace {

constexpr std::size_t kTokenLengthMin = 16;
constexpr std::size_t kTokenLengthMax = 256;

bool allows(const config::Allowed& allowed, std::string_view name) {
  return allowed.all || std::ranges::find(allowed.names, name) != allowed.names.end();
}

std::expected<std::string, std::string> read_token(const config::ServiceClient& client) {
  std::string token;
  std::string where = client.token_file;
  if (!client.token_env.empty()) {
    where = "the variable " + client.token_env;
    const char* value = std::getenv(client.token_env.c_str());
    if (value == nullptr) return std::unexpected(where + " is not set");
    token = value;
  } else {
    auto text = base::read_private_file(client.token_file);
    if (!text) return std::unexpected(std::move(text.error()));
    token = base::trim(base::without_line_end(*text));
  }
  const bool is_token = token.size() >= kTokenLengthMin && token.size() <= kTokenLengthMax &&
                        std::ranges::all_of(token, [](char c) { return c > ' ' && c < 0x7f; });
  if (!is_token) {
    return std::unexpected(where + ": must be one token of 16 to 256 printable characters, " +
                           "without spaces");
  }
  return token;
}

}  // namespace

bool Client::may_use(std::string_view tenant, std::string_view operation) const {
  return allows(tenants, tenant) && allows(operations, operation);
}

std::expected<void, std::string> Clients::add(const config::ServiceClient& wanted,
                                              const base::Sha256Digest& token) {
  if (const Client* same = find(token)) {
    return std::unexpected("service client " + wanted.name + ": has the token of " + same->name +
                           "; give each client its own");
  }
  clients_.push_back({wanted.name, wanted.tenants, wanted.operations, token});
  return {};
}

std::expected<std::shared_ptr<const Clients>, std::string> Clients::load(
    const config::ServiceConfig& config) {
  auto clients = std::make_shared<Clients>();
  for (const config::ServiceClient& wanted : config.clients) {
    const auto token = read_token(wanted);
    if (!token) return std::unexpected("service client " + wanted.name + ": " + token.error());
    auto added = clients->add(wanted, base::sha256(*token));
    if (!added) return std::unexpected(std::move(added.error()));
  }
  return clients;
}

Clients::Reloaded Clients::reload(const config::ServiceConfig& config, const Clients& before) {
  auto clients = std::make_shared<Clients>();
  Reloaded reloaded;
  for (const config::ServiceClient& wanted : config.clients) {
    const auto token = read_token(wanted);
    std::optional<base::Sha256Digest> digest;
    if (token) {
      digest = base::sha256(*token);
    } else {
      reloaded.problems.push_back("service client " + wanted.name + ": " + token.error());
      const auto former = std::ranges::find(before.clients_, wanted.name, &Client::name);
      if (former != before.clients_.end()) digest = former->token;
    }
    if (!digest) continue;
    auto added = clients->add(wanted, *digest);
    if (!added) reloaded.problems.push_back(std::move(added.error()));
  }
  reloaded.clients = std::move(clients);
  return reloaded;
}

const Client* Clients::find(std::string_view token) const {
  return find(base::sha256(token));
}

const Client* Clients::find(const base::Sha256Digest& digest) const {
  const Client* found = nullptr;
  for (const Client& client : clients_) {
    const bool same = CRYPTO_memcmp(client.token.data(), digest.data(), digest.size()) == 0;
    if (same) found = &client;
  }
  return found;
}

}  // namespace semel::service
