#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "core/fingerprint/keyed_hash.h"
#include "http/tls.h"
#include "runtime/token_keys.h"

namespace semel::runtime {

// The certificates and keys from the files that the configuration names: who we are and whom we
// trust. Immutable; a reload reads the files again and makes a new one.
struct KeyMaterial {
  std::shared_ptr<const http::TlsServer> server;  // null: plain HTTP, or no clients
  // By route; null where no upstream is https://.
  std::vector<std::shared_ptr<const http::TlsClient>> upstreams;
  // For requests of our own: the system's CAs.
  std::shared_ptr<const http::TlsClient> own;

  // Null unless tenants come from tokens. Follows changes of its file by itself.
  std::shared_ptr<TokenKeys> tokens;
  core::HashKeys hash_keys;  // empty: plain SHA-256

  // Reads the files that executing by these routes needs, so it blocks. The error is a sentence for
  // the operator; nothing half-read is ever used.
  static std::expected<KeyMaterial, std::string> load(
      const config::Config& config, const std::vector<config::RouteConfig>& routes);
  // Reads also what serving clients needs: our certificate, and the keys of their tokens.
  static std::expected<KeyMaterial, std::string> load_for_gateway(const config::Config& config);
  // Returns what load_for_gateway() would complain about, all of it, and what load() would for the
  // handlers of messages.
  static std::vector<std::string> find_problems(const config::Config& config);
};

}  // namespace semel::runtime
