#pragma once

#include <expected>
#include <functional>
#include <string>

#include "config/config.h"

namespace semel::relay {

struct RelayOptions {
  std::string url;     // of the database
  std::string schema;  // that the outbox is in
  RelayConfig config;
  Duration drain_timeout = std::chrono::seconds(30);
};

// Delivers what is in the outbox until SIGTERM or SIGINT; then finishes what is being delivered and
// gives its leases back. `ready` is called once it has begun. False: drain_timeout passed with
// deliveries still running, which this process must not outlive. The error is a sentence for the
// operator: it could not begin.
std::expected<bool, std::string> run_relay(const RelayOptions& options,
                                           const std::function<void()>& ready);

}  // namespace semel::relay
