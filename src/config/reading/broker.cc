#include "config/reading/broker.h"

#include <algorithm>
#include <array>

namespace semel::config::reading {
namespace {}  // namespace

std::string_view to_string(BrokerKind kind) {
  switch (kind) {
    case BrokerKind::rabbitmq:
      return "rabbitmq";
    case BrokerKind::nats:
      return "nats";
    case BrokerKind::kafka:
      return "kafka";
  }
  return "";
}

void read_broker_url(const Field& field, BrokerAddress& out) {
  field.read(out.url, 1, kTextLengthMax);
}

void read_broker_ca(const Field& field, BrokerAddress& out) {
  field.read(out.ca_file, 1, kFilePathLengthMax);
}

void read_broker_list(const Field& field, BrokerAddress& out) {
  field.read(out.brokers, 1, kTextLengthMax);
}

// A value may hold a password, so errors do not show it.
void read_broker_properties(const Field& field, BrokerAddress& out) {
  constexpr std::array<std::string_view, 8> kOurs = {
      "bootstrap.servers",  "group.id",
      "enable.auto.commit", "enable.auto.offset.store",
      "auto.offset.reset",  "enable.idempotence",
      "transactional.id",   "delivery.report.only.error"};
  if (!is_mapping(field)) return;
  for (const Node& child : field.node().children) {
    const Field value = field.at(child.name);
    const std::optional<std::string> text = value.text();
    if (!text) continue;
    if (std::ranges::count(kOurs, child.name) > 0) {
      value.error("is set by Semel; remove it");
    } else {
      out.properties.emplace_back(child.name, *text);
    }
  }
}

void check_broker_keys(const Field& mapping, const BrokerAddress& broker,
                       std::span<const KeyOfBroker> keys) {
  const std::string_view kind = to_string(broker.kind);
  for (const KeyOfBroker& key : keys) {
    if (key.kind == broker.kind && key.required && mapping.node().find(key.name) == nullptr) {
      mapping.at(key.name).error(fmt::format("required with kind: {}", kind));
    }
  }
  for (const Node& child : mapping.node().children) {
    const bool belongs = std::ranges::any_of(keys, [&](const KeyOfBroker& key) {
      return key.name == child.name && key.kind == broker.kind;
    });
    const bool is_known = std::ranges::count(keys, child.name, &KeyOfBroker::name) > 0;
    if (is_known && !belongs) {
      mapping.at(child.name).error(fmt::format("is not allowed with kind: {}", kind));
    }
  }
  const auto starts = [&](std::string_view scheme) { return broker.url.starts_with(scheme); };
  if (broker.kind == BrokerKind::rabbitmq && !broker.url.empty() && !starts("amqp://") &&
      !starts("amqps://")) {
    mapping.at("url").error("must begin with amqp:// or amqps://");
  }
  if (broker.kind == BrokerKind::nats && !broker.url.empty() && !starts("nats://") &&
      !starts("tls://")) {
    mapping.at("url").error("must begin with nats:// or tls://");
  }
}

}  // namespace semel::config::reading
