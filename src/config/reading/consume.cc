#include "config/reading/consume.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>

#include "base/text.h"
#include "config/reading/broker.h"
#include "config/reading/route/keys.h"
#include "config/reading/tls.h"

namespace semel::config::reading {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::size_t kConsumersMax = 256;
constexpr std::size_t kPrefetchMax = 65'535;  // what AMQP can express
constexpr std::size_t kMessageAttemptsMax = 1'000'000;
// A handler's answer is kept only for people to look at; it is not sent to anybody.
constexpr std::size_t kStoredAnswerBytes = 64 * 1024;
// RabbitMQ closes the channel of a consumer that holds a message for 30 minutes.
constexpr Duration kBackoffMax = minutes(15);
constexpr Duration kHandlerTimeout = seconds(60);

// The keys that mean the same here as in a route.
constexpr std::array<std::string_view, 17> kSharedKeys = {
    "name",         "connect_timeout", "upstream_timeout", "upstream_idle",
    "upstream_tls", "lease",           "max_execution",    "fingerprint",
    "outcomes",     "completes",       "hold_for",         "probe",
    "ttl",          "tombstone",       "resource",         "forward_key",
    "describe"};

struct ConsumeDraft {
  ConsumeConfig config;
  RouteDraft route;
};

constexpr std::array kFromKeys = std::to_array<Key<BrokerConfig>>({
    {"kind",
     [](const Field& f, BrokerConfig& out) {
       read_choice(f,
                   {{"rabbitmq", BrokerKind::rabbitmq},
                    {"nats", BrokerKind::nats},
                    {"kafka", BrokerKind::kafka}},
                   out.kind);
     }},
    {"url", [](const Field& f, BrokerConfig& out) { read_broker_url(f, out); }},
    {"ca", [](const Field& f, BrokerConfig& out) { read_broker_ca(f, out); }},
    {"queue", [](const Field& f, BrokerConfig& out) { f.read(out.queue, 1, 255); }},
    {"stream", [](const Field& f, BrokerConfig& out) { f.read(out.stream, 1, 255); }},
    {"consumer", [](const Field& f, BrokerConfig& out) { f.read(out.consumer, 1, 255); }},
    {"ack_wait",
     [](const Field& f, BrokerConfig& out) { f.read(out.ack_wait, seconds(1), minutes(60)); }},
    {"brokers", [](const Field& f, BrokerConfig& out) { read_broker_list(f, out); }},
    {"topic", [](const Field& f, BrokerConfig& out) { f.read(out.topic, 1, 249); }},
    {"group", [](const Field& f, BrokerConfig& out) { f.read(out.group, 1, 255); }},
    {"properties", [](const Field& f, BrokerConfig& out) { read_broker_properties(f, out); }},
    {"prefetch",
     [](const Field& f, BrokerConfig& out) { f.read_count(out.prefetch, 1, kPrefetchMax); }},
});

constexpr std::array kMessageKeyKeys = std::to_array<Key<MessageKeyConfig>>({
    {"from",
     [](const Field& f, MessageKeyConfig& out) {
       read_choice(f,
                   {{"property", MessageKeySource::property},
                    {"header", MessageKeySource::header},
                    {"pointer", MessageKeySource::pointer}},
                   out.from);
     }},
    {"name", [](const Field& f, MessageKeyConfig& out) { f.read(out.name, 1, kNameLengthMax); }},
    {"pointer",
     [](const Field& f, MessageKeyConfig& out) {
       f.read(out.pointer, 1, kTextLengthMax);
       if (!out.pointer.empty() && !check_pointer(out.pointer)) {
         f.bad_value("is not a JSON Pointer to a member; write it like /id or /event/id");
       }
     }},
    {"max_length",
     [](const Field& f, MessageKeyConfig& out) {
       f.read_count(out.rules.max_length, 1, kKeyLengthMax);
     }},
});

constexpr std::array kDeadLetterKeys = std::to_array<Key<DeadLetterConfig>>({
    {"exchange", [](const Field& f, DeadLetterConfig& out) { f.read(out.exchange, 0, 255); }},
    {"routing_key", [](const Field& f, DeadLetterConfig& out) { f.read(out.routing_key, 0, 255); }},
    {"subject", [](const Field& f, DeadLetterConfig& out) { f.read(out.subject, 1, 255); }},
    {"topic", [](const Field& f, DeadLetterConfig& out) { f.read(out.topic, 1, 249); }},
});

void read_dead_letter(const Field& field, ConsumeDraft& draft) {
  if (field.node().kind == NodeKind::scalar) {
    read_choice(field, {{"reject", true}}, draft.config.dead_letter.reject);
  } else {
    read_mapping(field, kDeadLetterKeys, draft.config.dead_letter);
  }
}

void read_to(const Field& field, ConsumeDraft& draft) {
  const std::optional<Url> url = field.parsed(parse_url);
  if (!url) return;
  draft.route.config.upstreams = {{url->tls, url->address, ""}};
  draft.config.target = url->target;
}

constexpr std::array kMessageBackoffKeys = std::to_array<Key<ConsumeConfig>>({
    {"min", [](const Field& f,
               ConsumeConfig& out) { f.read(out.backoff_min, milliseconds(1), kBackoffMax); }},
    {"max", [](const Field& f,
               ConsumeConfig& out) { f.read(out.backoff_max, milliseconds(1), kBackoffMax); }},
});

void read_unknown(const Field& field, ConsumeDraft& draft) {
  read_choice(field,
              {{"hold", UnknownPolicy::hold},
               {"retry", UnknownPolicy::retry},
               {"probe", UnknownPolicy::probe}},
              draft.route.config.operation.unknown);
}

constexpr std::array kConsumeKeys = std::to_array<Key<ConsumeDraft>>({
    {"from", [](const Field& f, ConsumeDraft& d) { read_mapping(f, kFromKeys, d.config.from); }},
    {"to", read_to},
    {"key",
     [](const Field& f, ConsumeDraft& d) { read_mapping(f, kMessageKeyKeys, d.config.key); }},
    {"headers",
     [](const Field& f, ConsumeDraft& d) {
       f.read_header_names(d.config.headers);
       for (std::string& name : d.config.headers) name = base::lower_case(name);
     }},
    {"unknown", read_unknown},
    {"dead_letter", read_dead_letter},
    {"in_flight",
     [](const Field& f, ConsumeDraft& d) { f.read_count(d.config.in_flight, 1, kPrefetchMax); }},
    {"max_attempts",
     [](const Field& f, ConsumeDraft& d) {
       f.read_count(d.config.max_attempts, 1, kMessageAttemptsMax);
     }},
    {"backoff",
     [](const Field& f, ConsumeDraft& d) { read_mapping(f, kMessageBackoffKeys, d.config); }},
    {"max_message",
     [](const Field& f, ConsumeDraft& d) {
       f.read_size(d.route.config.max_request_body, 1, std::size_t{64} << 20);
     }},
});

void read_keys(const Field& entry, ConsumeDraft& draft) {
  std::vector<std::string_view> known_names(kSharedKeys.begin(), kSharedKeys.end());
  for (const auto& key : kConsumeKeys) known_names.push_back(key.name);
  for (const std::string_view name : known_names) entry.may_have(name);
  for (const Node& child : entry.node().children) {
    const Field value = entry.at(child.name);
    const auto own = std::ranges::find(kConsumeKeys, child.name, &Key<ConsumeDraft>::name);
    if (own != kConsumeKeys.end()) {
      own->read(value, draft);
    } else if (std::ranges::count(kSharedKeys, child.name) > 0) {
      read_route_key(value, child.name, draft.route);
    } else {
      report_unknown_key(value, known_names);
    }
  }
}

constexpr KeyOfBroker kSourceKeysOfBrokers[] = {
    {BrokerKind::rabbitmq, "url", true},   {BrokerKind::nats, "url", true},
    {BrokerKind::rabbitmq, "ca", false},   {BrokerKind::nats, "ca", false},
    {BrokerKind::rabbitmq, "queue", true}, {BrokerKind::nats, "stream", true},
    {BrokerKind::nats, "consumer", true},  {BrokerKind::nats, "ack_wait", false},
    {BrokerKind::kafka, "brokers", true},  {BrokerKind::kafka, "topic", true},
    {BrokerKind::kafka, "group", true},    {BrokerKind::kafka, "properties", false},
};

void check_from(const Field& from, const BrokerConfig& broker) {
  if (from.node().find("kind") == nullptr) {
    from.at("kind").error("required: rabbitmq, nats or kafka");
    return;
  }
  check_broker_keys(from, broker, kSourceKeysOfBrokers);
}

// The properties that a broker's messages have.
std::vector<std::string_view> properties_of(BrokerKind kind) {
  switch (kind) {
    case BrokerKind::rabbitmq:
      return {"message_id", "correlation_id"};
    case BrokerKind::nats:
      return {"msg_id", "sequence"};
    case BrokerKind::kafka:
      return {"key", "offset"};
  }
  return {};
}

void check_key(const Field& entry, ConsumeConfig& config) {
  const Field field = entry.at("key");
  MessageKeyConfig& key = config.key;
  if (entry.node().find("key") == nullptr && config.from.kind == BrokerKind::kafka) {
    field.error(
        "required with kind: kafka, which has no message ids: {from: header, name: …}, {from: "
        "pointer, pointer: /id}, or {from: property, name: key} if every record has its own key");
    return;
  }
  if (key.from == MessageKeySource::pointer) {
    if (key.pointer.empty()) field.at("pointer").error("required with from: pointer, like /id");
    return;
  }
  if (!key.pointer.empty()) field.at("pointer").error("allowed only with from: pointer");
  const std::vector<std::string_view> properties = properties_of(config.from.kind);
  if (key.from == MessageKeySource::header) {
    if (key.name.empty()) field.at("name").error("required with from: header");
  } else if (key.name.empty()) {
    key.name = properties.front();
  } else if (std::ranges::count(properties, key.name) == 0) {
    field.at("name").bad_value(fmt::format("is not a supported property of {}; use {} or {}",
                                           to_string(config.from.kind), properties[0],
                                           properties[1]));
  }
}

void check_dead_letter(const Field& entry, const ConsumeConfig& config) {
  const Field field = entry.at("dead_letter");
  const Node* node = entry.node().find("dead_letter");
  const auto has = [&](std::string_view name) { return node && node->find(name) != nullptr; };
  const DeadLetterConfig& to = config.dead_letter;
  std::string_view needs;
  switch (config.from.kind) {
    case BrokerKind::rabbitmq:
      needs = "{exchange: …, routing_key: …}, or reject: to the queue's own dead-letter exchange";
      if (to.reject || has("exchange") || has("routing_key")) needs = "";
      break;
    case BrokerKind::nats:
      needs = "{subject: …}";
      if (has("subject")) needs = "";
      break;
    case BrokerKind::kafka:
      needs = "{topic: …}";
      if (has("topic")) needs = "";
      break;
  }
  if (!needs.empty()) {
    field.error(fmt::format(
        "required with kind: {}, as {}; the place for messages that cannot be processed",
        to_string(config.from.kind), needs));
    return;
  }
  const bool is_rabbitmq = config.from.kind == BrokerKind::rabbitmq;
  const bool is_foreign = (!is_rabbitmq && (to.reject || has("exchange") || has("routing_key"))) ||
                          (config.from.kind != BrokerKind::nats && has("subject")) ||
                          (config.from.kind != BrokerKind::kafka && has("topic"));
  if (is_foreign) {
    field.error(
        fmt::format("has keys that are not allowed with kind: {}", to_string(config.from.kind)));
  }
  if (is_rabbitmq && !to.reject && to.exchange.empty() && to.routing_key == config.from.queue) {
    field.error("is the queue itself: its dead letters would come back forever");
  }
  if (config.from.kind == BrokerKind::kafka && to.topic == config.from.topic) {
    field.at("topic").error("is the topic itself: its dead letters would come back forever");
  }
}

// Without `to` the messages are for a function of a program, and no HTTP is spoken.
void check_for_function(const Field& entry, const Operation& operation) {
  constexpr std::string_view kOnlyWithTo[] = {"connect_timeout", "upstream_idle", "upstream_tls",
                                              "outcomes",        "resource",      "forward_key",
                                              "headers",         "probe"};
  for (const std::string_view name : kOnlyWithTo) {
    if (entry.node().find(name)) {
      entry.at(name).error("allowed only with to, the handler's URL; this entry is for a function");
    }
  }
  if (entry.node().find("upstream_timeout")) {
    entry.at("upstream_timeout")
        .error(
            "allowed only with to, the handler's URL; max_execution limits how long a function may "
            "take");
  }
  if (operation.unknown == UnknownPolicy::probe) {
    entry.at("unknown").error(
        "probe asks a handler over HTTP, but without to this entry is for a function; use hold or "
        "retry");
  }
}

void check_entry(const Field& entry, ConsumeDraft& draft) {
  const auto require = [&](std::string_view name, std::string message) {
    if (entry.node().find(name) == nullptr) entry.at(name).error(std::move(message));
  };
  require("name", "required; the name of the operation, in which each message id counts once");
  if (entry.node().find("to") == nullptr) check_for_function(entry, draft.route.config.operation);
  require("unknown",
          "required; what to do with a message whose handler was called and never answered: hold "
          "(never run it twice), retry (the handler deduplicates by the key) or probe");
  if (entry.node().find("from") == nullptr) {
    require("from", "required, like {kind: rabbitmq, url: \"amqp://…\", queue: payments}");
  } else if (entry.at("from").node().kind == NodeKind::mapping) {
    check_from(entry.at("from"), draft.config.from);
  }
  check_key(entry, draft.config);
  check_dead_letter(entry, draft.config);
  if (draft.config.backoff_min > draft.config.backoff_max) {
    entry.at("backoff").at("min").error("is longer than max");
  }
  const RouteConfig& route = draft.route.config;
  check_upstream_tls(entry, route);
  const bool has_to = entry.node().find("to") != nullptr;
  const bool probes = route.operation.unknown == UnknownPolicy::probe;
  if (has_to && probes && route.probe.url.target.empty()) {
    entry.at("probe").error(
        "required with unknown: probe, like {url: \"http://127.0.0.1:3000/outcomes?key={key}\"}");
  }
  using enum BodyFingerprint;
  if (route.fingerprint.body != automatic && route.fingerprint.body != json &&
      route.fingerprint.body != raw && route.fingerprint.body != none) {
    entry.at("fingerprint")
        .at("body")
        .error("is not allowed for messages; use auto, json, raw or none");
  }
  if (!route.fingerprint.headers.empty()) {
    entry.at("fingerprint").at("headers").error("is not allowed for messages");
  }
  if (has_to && route.operation.max_execution < route.upstream_timeout) {
    entry.at("max_execution").warn("is shorter than upstream_timeout");
  }
}

ConsumeConfig read_entry(const Field& entry) {
  ConsumeDraft draft;
  RouteConfig& route = draft.route.config;
  route.path = "/*";
  route.methods = {"POST"};
  route.upstream_timeout = kHandlerTimeout;
  route.late_answer = Duration{0};  // nobody waits for it: upstream_timeout is the only timeout
  route.max_stored_body = kStoredAnswerBytes;
  route.max_spilled_body = 0;
  if (!is_mapping(entry)) return draft.config;
  read_keys(entry, draft);
  check_entry(entry, draft);
  route.outcomes = make_rules(draft.route.outcomes);
  route.line = entry.node().line;
  draft.config.route = std::move(route);
  return draft.config;
}

}  // namespace

std::vector<ConsumeConfig> read_consume(const Field& list) {
  std::vector<ConsumeConfig> out;
  for (const Field& entry : list.items(kConsumersMax)) out.push_back(read_entry(entry));
  if (out.empty() && list.node().kind == NodeKind::sequence) {
    list.error("must have at least one entry");
  }
  return out;
}

void check_consume(const Field& list, const Config& config) {
  if (list.node().kind != NodeKind::sequence) return;
  std::map<std::string, int> lines;
  for (const RouteConfig& route : config.routes) lines.try_emplace(route.name, route.line);
  const std::vector<Field> entries = list.items(kConsumersMax);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const RouteConfig& route = config.consume[i].route;
    if (!route.name.empty()) {
      const auto [first, is_new] = lines.try_emplace(route.name, route.line);
      if (!is_new) {
        entries[i].at("name").error(
            fmt::format("{} is also the operation on line {}; their keys would be mixed",
                        quote(route.name), first->second));
      }
    }
    if (route.completes == Completes::executor &&
        config.store.kind != stores::StoreKind::postgres &&
        config.store.kind != stores::StoreKind::tiered) {
      entries[i].at("completes").error("executor needs store: {kind: postgres}");
    }
  }
}

}  // namespace semel::config::reading
