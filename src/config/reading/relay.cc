#include "config/reading/relay.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "config/reading/broker.h"
#include "config/reading/tls.h"

namespace semel::config::reading {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

constexpr std::size_t kAttemptsMax = 1'000'000;
constexpr std::size_t kParallelMax = 1024;
constexpr std::size_t kHeaderValueMax = 8192;

void read_headers(const Field& field, RelayDestination& out) {
  if (!is_mapping(field)) return;
  for (const Node& child : field.node().children) {
    const Field value = field.at(child.name);
    if (!may_be_given(child.name)) {
      value.error("is not a header that a delivery may set");
      continue;
    }
    std::string text;
    value.read(text, 0, kHeaderValueMax);
    if (!is_printable(text)) {
      value.error("the value of a header must be printable ASCII");
      continue;
    }
    out.headers.push_back({child.name, std::move(text)});
  }
}

constexpr std::size_t kBrokerNameLengthMax = 255;  // an AMQP short string, a NATS subject
constexpr std::size_t kTopicLengthMax = 249;       // what Kafka allows
constexpr std::size_t kAttributeMax = 1024;

constexpr std::array kCloudEventsKeys = std::to_array<Key<CloudEventsConfig>>({
    {"source",
     [](const Field& f, CloudEventsConfig& out) {
       f.read(out.source, 1, kAttributeMax);
       if (!is_printable(out.source)) f.error("must be printable ASCII, as a URI reference is");
     }},
    {"type",
     [](const Field& f, CloudEventsConfig& out) {
       f.read(out.type, 1, kAttributeMax);
       if (!is_printable(out.type)) f.error("must be printable ASCII");
     }},
});

enum class DestinationKind { http, rabbitmq, nats, kafka };

struct DestinationDraft {
  RelayDestination config;
  DestinationKind kind = DestinationKind::http;
  BrokerTarget broker;
  bool is_broker() const { return kind != DestinationKind::http; }
};

void read_kind(const Field& field, DestinationDraft& out) {
  read_choice(field,
              {{"http", DestinationKind::http},
               {"rabbitmq", DestinationKind::rabbitmq},
               {"nats", DestinationKind::nats},
               {"kafka", DestinationKind::kafka}},
              out.kind);
  out.broker.kind = out.kind == DestinationKind::nats    ? BrokerKind::nats
                    : out.kind == DestinationKind::kafka ? BrokerKind::kafka
                                                         : BrokerKind::rabbitmq;
}

constexpr std::array kDestinationKeys = std::to_array<Key<DestinationDraft>>({
    {"kind", [](const Field&, DestinationDraft&) { /* read before all others */ }},
    {"url",
     [](const Field& f, DestinationDraft& out) {
       if (out.is_broker()) {
         read_broker_url(f, out.broker);
       } else if (std::optional<Url> url = f.parsed(parse_url)) {
         out.config.url = *std::move(url);
       }
     }},
    {"tls",
     [](const Field& f, DestinationDraft& out) {
       if (out.is_broker()) {
         f.error("allowed only with https://; a broker's certificate is verified with ca");
       } else {
         read_upstream_tls(f, out.config.tls);
       }
     }},
    {"ca", [](const Field& f, DestinationDraft& out) { read_broker_ca(f, out.broker); }},
    {"exchange",
     [](const Field& f, DestinationDraft& out) {
       f.read(out.broker.exchange, 0, kBrokerNameLengthMax);
     }},
    {"routing_key",
     [](const Field& f, DestinationDraft& out) {
       f.read(out.broker.routing_key, 0, kBrokerNameLengthMax);
     }},
    {"subject", [](const Field& f,
                   DestinationDraft& out) { f.read(out.broker.subject, 1, kBrokerNameLengthMax); }},
    {"brokers", [](const Field& f, DestinationDraft& out) { read_broker_list(f, out.broker); }},
    {"topic",
     [](const Field& f, DestinationDraft& out) { f.read(out.broker.topic, 1, kTopicLengthMax); }},
    {"properties",
     [](const Field& f, DestinationDraft& out) { read_broker_properties(f, out.broker); }},
    {"timeout",
     [](const Field& f, DestinationDraft& out) {
       f.read(out.config.timeout, milliseconds(1), minutes(10));
     }},
    {"headers", [](const Field& f, DestinationDraft& out) { read_headers(f, out.config); }},
    {"cloudevents",
     [](const Field& f,
        DestinationDraft&
            out) { read_mapping(f, kCloudEventsKeys, out.config.cloudevents.emplace()); }},
});

constexpr KeyOfBroker kDestinationKeysOfBrokers[] = {
    {BrokerKind::rabbitmq, "url", true},       {BrokerKind::nats, "url", true},
    {BrokerKind::rabbitmq, "ca", false},       {BrokerKind::nats, "ca", false},
    {BrokerKind::rabbitmq, "exchange", false}, {BrokerKind::rabbitmq, "routing_key", false},
    {BrokerKind::nats, "subject", true},       {BrokerKind::kafka, "brokers", true},
    {BrokerKind::kafka, "topic", true},        {BrokerKind::kafka, "properties", false},
};

void check_subject(const Field& field, std::string_view subject) {
  const bool is_whole = std::ranges::none_of(
      subject, [](char c) { return c <= ' ' || c > '~' || c == '*' || c == '>'; });
  if (!is_whole) field.bad_value("is not a single subject; remove spaces and wildcards");
}

void check_broker(const Field& value, DestinationDraft& draft) {
  check_broker_keys(value, draft.broker, kDestinationKeysOfBrokers);
  const BrokerTarget& broker = draft.broker;
  if (broker.kind == BrokerKind::rabbitmq && broker.exchange.empty() &&
      broker.routing_key.empty()) {
    value.at("routing_key")
        .error("required: the queue's name, or the routing key for an exchange ({exchange: …})");
  }
  if (broker.kind == BrokerKind::nats && !broker.subject.empty()) {
    check_subject(value.at("subject"), broker.subject);
  }
  for (const Header& header : draft.config.headers) {
    if (base::lower_case(header.name).starts_with("nats-")) {
      value.at("headers").at(header.name).error("is reserved for the NATS server");
    }
  }
  if (!draft.config.cloudevents) draft.config.cloudevents.emplace();
  draft.config.broker = std::move(draft.broker);
}

void check_http(const Field& value) {
  for (const KeyOfBroker& key : kDestinationKeysOfBrokers) {
    if (key.name == "url" || value.node().find(key.name) == nullptr) continue;
    if (key.kind == BrokerKind::nats && key.name == "ca") continue;  // reported already
    value.at(key.name).error("allowed only with a broker; set kind to rabbitmq, nats or kafka");
  }
  if (value.node().find("url") == nullptr) {
    value.at("url").error("required; the URL to deliver to, like https://hooks.example/orders");
  }
}

RelayDestination read_destination(const Field& value) {
  DestinationDraft draft;
  if (value.node().kind == NodeKind::mapping && value.node().find("kind") != nullptr) {
    read_kind(value.at("kind"), draft);
  }
  read_mapping(value, kDestinationKeys, draft);
  if (value.node().kind != NodeKind::mapping) return draft.config;
  if (draft.is_broker()) {
    check_broker(value, draft);
  } else {
    check_http(value);
  }
  return std::move(draft.config);
}

void read_destinations(const Field& field, RelayConfig& out) {
  if (!is_mapping(field)) return;
  for (const Node& child : field.node().children) {
    const Field value = field.at(child.name);
    if (child.name.empty() || child.name.size() > kDestinationNameMax) {
      value.error(fmt::format("the name must have 1 to {} characters", kDestinationNameMax));
      continue;
    }
    out.destinations.push_back(read_destination(value));
    out.destinations.back().name = child.name;
  }
}

constexpr std::array kBackoffKeys = std::to_array<Key<RelayConfig>>({
    {"min", [](const Field& f,
               RelayConfig& out) { f.read(out.backoff_min, milliseconds(1), minutes(60)); }},
    {"max",
     [](const Field& f, RelayConfig& out) {
       f.read(out.backoff_max, milliseconds(1), std::chrono::days(1));
     }},
});

constexpr std::array kRelayKeys = std::to_array<Key<RelayConfig>>({
    {"destinations", read_destinations},
    {"allow_urls", [](const Field& f, RelayConfig& out) { f.read(out.allow_urls); }},
    {"max_attempts",
     [](const Field& f, RelayConfig& out) { f.read_count(out.max_attempts, 1, kAttemptsMax); }},
    {"backoff", [](const Field& f, RelayConfig& out) { read_mapping(f, kBackoffKeys, out); }},
    {"lease",
     [](const Field& f, RelayConfig& out) { f.read(out.lease, milliseconds(300), minutes(60)); }},
    {"parallel",
     [](const Field& f, RelayConfig& out) { f.read_count(out.parallel, 1, kParallelMax); }},
    {"on_dead",
     [](const Field& f, RelayConfig& out) {
       read_choice(f, {{"skip", OnDead::skip}, {"block", OnDead::block}}, out.on_dead);
     }},
});

}  // namespace

void read_relay(const Field& field, RelayConfig& out) {
  read_mapping(field, kRelayKeys, out);
  if (out.backoff_min > out.backoff_max) {
    field.at("backoff").error("min is longer than max");
  }
  if (out.destinations.empty() && !out.allow_urls && field.node().kind == NodeKind::mapping &&
      field.node().find("destinations") == nullptr) {
    field.at("destinations").error("required, unless allow_urls is true; name at least one");
  }
}

bool may_be_given(std::string_view header_name) {
  constexpr std::array<std::string_view, 11> kReserved = {
      "host",       "content-length", "transfer-encoding",
      "connection", "keep-alive",     "te",
      "trailer",    "upgrade",        "expect",
      "user-agent", "idempotency-key"};
  const std::string name = base::lower_case(header_name);
  return is_token(name) && !name.starts_with("proxy-") && std::ranges::count(kReserved, name) == 0;
}

std::expected<RelayDestination, std::string> destination_of(std::string_view name,
                                                            std::string_view url) {
  auto parsed = parse_url(url);
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  RelayDestination destination;
  destination.name = name;
  destination.url = *std::move(parsed);
  return destination;
}

}  // namespace semel::config::reading
