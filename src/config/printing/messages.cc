#include "config/printing/messages.h"

#include <algorithm>

#include "config/printing/outcomes.h"
#include "config/printing/parts.h"
#include "config/printing/secrets.h"
#include "config/reading/broker.h"

namespace semel::config::printing {
namespace {

std::string_view name_of(MessageKeySource from) {
  switch (from) {
    case MessageKeySource::property:
      return "property";
    case MessageKeySource::header:
      return "header";
    case MessageKeySource::pointer:
      return "pointer";
  }
  return "";
}

void print_broker(Yaml& out, const BrokerAddress& broker) {
  out.text("kind", reading::to_string(broker.kind));
  if (broker.kind != BrokerKind::kafka) {
    out.url("url", broker.url);
    out.text_if_any("ca", broker.ca_file);
    return;
  }
  out.text("brokers", broker.brokers);
  out.mapping("properties", [&] {
    for (const auto& [name, value] : broker.properties) {
      out.text(name, names_secret(name) ? kHidden : std::string_view(value));
    }
  });
}

void print_target(Yaml& out, const BrokerTarget& target) {
  print_broker(out, target);
  switch (target.kind) {
    case BrokerKind::rabbitmq:
      out.text("exchange", target.exchange);
      out.text("routing_key", target.routing_key);
      break;
    case BrokerKind::nats:
      out.text("subject", target.subject);
      break;
    case BrokerKind::kafka:
      out.text("topic", target.topic);
      break;
  }
}

void print_destination(Yaml& out, const RelayDestination& destination) {
  if (destination.broker) {
    print_target(out, *destination.broker);
  } else {
    out.text("kind", "http");
    out.url("url", text_of(destination.url));
    print_client_tls(out, "tls", destination.tls);
  }
  out.duration("timeout", destination.timeout);
  out.mapping("headers", [&] {
    for (const Header& header : destination.headers) {
      out.text(header.name, names_secret(header.name) ? kHidden : std::string_view(header.value));
    }
  });
  if (!destination.cloudevents) return;
  out.mapping("cloudevents", [&] {
    out.text("source", destination.cloudevents->source);
    out.text("type", destination.cloudevents->type);
  });
}

void print_source(Yaml& out, const BrokerConfig& from) {
  out.mapping("from", [&] {
    print_broker(out, from);
    switch (from.kind) {
      case BrokerKind::rabbitmq:
        out.text("queue", from.queue);
        break;
      case BrokerKind::nats:
        out.text("stream", from.stream);
        out.text("consumer", from.consumer);
        out.duration("ack_wait", from.ack_wait);
        break;
      case BrokerKind::kafka:
        out.text("topic", from.topic);
        out.text("group", from.group);
        break;
    }
    out.count("prefetch", from.prefetch);
  });
}

void print_message_key(Yaml& out, const MessageKeyConfig& key) {
  out.mapping("key", [&] {
    out.text("from", name_of(key.from));
    out.text_if_any("name", key.name);
    out.text_if_any("pointer", key.pointer);
    out.count("max_length", key.rules.max_length);
  });
}

void print_dead_letter(Yaml& out, const ConsumeConfig& entry) {
  const DeadLetterConfig& to = entry.dead_letter;
  if (to.reject) return out.text("dead_letter", "reject");
  out.mapping("dead_letter", [&] {
    switch (entry.from.kind) {
      case BrokerKind::rabbitmq:
        out.text("exchange", to.exchange);
        out.text("routing_key", to.routing_key);
        break;
      case BrokerKind::nats:
        out.text("subject", to.subject);
        break;
      case BrokerKind::kafka:
        out.text("topic", to.topic);
        break;
    }
  });
}

// Writes the keys that only a handler with a URL has.
void print_handler(Yaml& out, const ConsumeConfig& entry) {
  const RouteConfig& route = entry.route;
  const Upstream& upstream = route.upstreams.front();
  out.url("to", text_of(Url{upstream.tls, upstream.address, entry.target}));
  if (upstream.tls) print_client_tls(out, "upstream_tls", route.upstream_tls);
  out.duration("connect_timeout", route.connect_timeout);
  out.duration("upstream_timeout", route.upstream_timeout);
  out.duration("upstream_idle", route.upstream_idle);
  print_outcomes(out, route.outcomes);
  print_resource(out, route.resource);
  out.text("forward_key", text_of(route.forward_key));
  out.texts("headers", entry.headers);
  print_probe(out, route.probe);
}

}  // namespace

void print_relay(Yaml& out, const RelayConfig& relay) {
  out.mapping("relay", [&] {
    out.mapping("destinations", [&] {
      for (const RelayDestination& destination : relay.destinations) {
        out.mapping(destination.name, [&] { print_destination(out, destination); });
      }
    });
    out.flag("allow_urls", relay.allow_urls);
    out.count("max_attempts", relay.max_attempts);
    print_backoff(out, relay.backoff_min, relay.backoff_max);
    out.duration("lease", relay.lease);
    out.count("parallel", relay.parallel);
    out.text("on_dead", relay.on_dead == OnDead::block ? "block" : "skip");
  });
}

void print_consume(Yaml& out, const ConsumeConfig& entry) {
  const RouteConfig& route = entry.route;
  out.text("name", route.name);
  print_source(out, entry.from);
  if (!entry.is_for_function()) print_handler(out, entry);
  print_message_key(out, entry.key);
  print_fingerprint(out, route.fingerprint);
  out.texts("describe", route.describe);
  out.text("completes", text_of(route.completes));
  out.text("unknown", text_of(route.operation.unknown));
  out.duration_or_never("hold_for", route.operation.hold_for);
  out.duration("lease", route.operation.lease);
  out.duration("max_execution", route.operation.max_execution);
  out.duration("ttl", route.operation.ttl);
  out.duration("tombstone", route.operation.tombstone);
  print_dead_letter(out, entry);
  out.count("in_flight", entry.in_flight);
  out.count("max_attempts", entry.max_attempts);
  print_backoff(out, entry.backoff_min, entry.backoff_max);
  out.size("max_message", route.max_request_body);
}

}  // namespace semel::config::printing
