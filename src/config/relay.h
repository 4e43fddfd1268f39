#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "config/address.h"
#include "config/broker.h"
#include "http/tls.h"
#include "semel/driver/record.h"
#include "semel/time.h"

namespace semel::config {

// Default CloudEvents attributes for messages that do not carry their own.
struct CloudEventsConfig {
  std::string source = "urn:semel:outbox";
  std::string type = "semel.outbox.message";
};

struct RelayDestination {
  std::string name;
  std::optional<BrokerTarget> broker;  // nullopt: HTTP, to `url`
  Url url;
  http::TlsClientFiles tls;  // if `url` is https://
  Duration timeout = std::chrono::seconds(10);
  std::vector<Header> headers;
  std::optional<CloudEventsConfig> cloudevents;  // nullopt: HTTP without them
};
enum class OnDead { skip, block };
// Where `semel relay` delivers the messages of the outbox, and how patiently.
struct RelayConfig {
  std::vector<RelayDestination> destinations;
  bool allow_urls = false;  // a destination may be an http(s):// URL that is not named here
  std::size_t max_attempts = 20;
  Duration backoff_min = std::chrono::milliseconds(500);
  Duration backoff_max = std::chrono::minutes(5);
  Duration lease = std::chrono::seconds(30);
  std::size_t parallel = 16;  // deliveries at once, per destination
  OnDead on_dead = OnDead::skip;
};

}  // namespace semel::config
