#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>

#include "config/config.h"
#include "core/fingerprint/keyed_hash.h"

namespace semel::relay {

struct RelayOptions {
  std::string url;     // of the database
  std::string schema;  // that the outbox is in
  config::RelayConfig config;
  Duration drain_timeout = std::chrono::seconds(30);
  std::optional<config::NotifyConfig> notify = {};     // who is told of dead letters
  config::LogKeys log_keys = config::LogKeys::digest;  // shows them keys, or digests …
  std::optional<core::HashKey> hash_key = {};          // … that are made with this; unset: plain
};

// Delivers the messages of the outbox until SIGTERM or SIGINT; then finishes the deliveries that
// run and gives the leases back. Calls `ready` once it has begun. False: drain_timeout passed with
// deliveries still running, which this process must not outlive. The error is a sentence for the
// operator: it could not begin.
std::expected<bool, std::string> run_relay(const RelayOptions& options,
                                           const std::function<void()>& ready);

}  // namespace semel::relay
