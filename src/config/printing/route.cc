#include "config/printing/route.h"

#include <algorithm>

#include "config/printing/outcomes.h"
#include "config/printing/parts.h"
#include "config/printing/webhook.h"

namespace semel::config::printing {
namespace {

std::string_view name_of(KeySource from) {
  switch (from) {
    case KeySource::header:
      return "header";
    case KeySource::pointer:
      return "pointer";
    case KeySource::fingerprint:
      return "fingerprint";
  }
  return "";
}

std::string_view name_of(KeyFormat format) {
  switch (format) {
    case KeyFormat::any:
      return "any";
    case KeyFormat::uuid:
      return "uuid";
    case KeyFormat::strong:
      return "strong";
  }
  return "";
}

std::string_view name_of(ScopeKind scope) {
  switch (scope) {
    case ScopeKind::operation:
      return "operation";
    case ScopeKind::path:
      return "path";
    case ScopeKind::tenant:
      return "tenant";
  }
  return "";
}

std::string_view name_of(InProgress in_progress) {
  switch (in_progress) {
    case InProgress::conflict:
      return "conflict";
    case InProgress::wait:
      return "wait";
    case InProgress::accept:
      return "accept";
  }
  return "";
}

std::string_view name_of(core::ErrorShape shape) {
  switch (shape) {
    case core::ErrorShape::problem:
      return "problem";
    case core::ErrorShape::flat:
      return "flat";
    case core::ErrorShape::nested:
      return "nested";
  }
  return "";
}

void print_key(Yaml& out, const KeyConfig& key) {
  out.mapping("key", [&] {
    out.flag("required", key.required);
    out.text("header", key.header);
    out.texts("aliases", key.aliases);
    out.text("from", name_of(key.from));
    out.text("pointer", key.pointer);
    out.count("min_length", key.rules.min_length);
    out.count("max_length", key.rules.max_length);
    out.text("format", name_of(key.rules.format));
  });
}

void print_health(Yaml& out, const std::optional<HealthConfig>& health) {
  if (!health) return out.text("health", "off");
  out.mapping("health", [&] {
    out.text("path", health->path);
    out.duration("interval", health->interval);
    out.duration("timeout", health->timeout);
    out.count("unhealthy_after", health->unhealthy_after);
    out.count("healthy_after", health->healthy_after);
  });
}

void print_circuit(Yaml& out, const std::optional<CircuitConfig>& circuit) {
  if (!circuit) return out.text("circuit", "off");
  out.mapping("circuit", [&] {
    out.count("failures", circuit->failures);
    out.duration("window", circuit->window);
    out.duration("open_for", circuit->open_for);
  });
}

void print_upstreams(Yaml& out, const RouteConfig& route) {
  std::vector<std::string> upstreams;
  for (const Upstream& upstream : route.upstreams) upstreams.push_back(text_of(upstream));
  out.texts("upstream", upstreams);
  const bool is_used = std::ranges::any_of(route.upstreams, &Upstream::tls);
  if (is_used || route.upstream_tls != http::TlsClientFiles{}) {
    print_client_tls(out, "upstream_tls", route.upstream_tls);
  }
  const bool by_connections = route.balance.by == Balance::least_connections;
  out.text("balance", by_connections ? "least_connections" : "round_robin");
  out.count("fail_after", route.balance.fail_after);
  out.duration("eject_for", route.balance.eject_for);
  out.duration("slow_start", route.balance.slow_start);
  print_health(out, route.health);
  print_circuit(out, route.circuit);
  out.duration("connect_timeout", route.connect_timeout);
  out.duration("upstream_timeout", route.upstream_timeout);
  out.duration("upstream_idle", route.upstream_idle);
  out.duration("late_answer", route.late_answer);
}

void print_operation(Yaml& out, const RouteConfig& route) {
  const Operation& operation = route.operation;
  print_outcomes(out, route.outcomes);
  out.text("on_retry", operation.on_retry == OnRetry::keep ? "keep" : "forget");
  out.text("completes", text_of(route.completes));
  out.text("unknown", text_of(operation.unknown));
  out.duration_or_never("hold_for", operation.hold_for);
  print_probe(out, route.probe);
  out.duration("lease", operation.lease);
  out.duration("max_execution", operation.max_execution);
  out.duration("ttl", operation.ttl);
  out.text("ttl_from", operation.ttl_from_creation ? "creation" : "completion");
  out.duration("tombstone", operation.tombstone);
  out.text("response_version", operation.response_version);
  const bool is_gone = operation.on_version_change == OnVersionChange::gone;
  out.text("on_version_change", is_gone ? "gone" : "new");
}

void print_pauses(Yaml& out, const RetryAfterConfig& retry_after) {
  if (!retry_after.in_progress && !retry_after.unknown) return;
  out.mapping("retry_after", [&] {
    if (retry_after.in_progress) out.duration("in_progress", *retry_after.in_progress);
    if (retry_after.unknown) out.duration("unknown", *retry_after.unknown);
  });
}

void print_answers(Yaml& out, const RouteConfig& route) {
  out.size("max_request_body", route.max_request_body);
  out.size("max_stored_body", route.max_stored_body);
  out.size("max_spilled_body", route.max_spilled_body);
  out.mapping("replay_headers", [&] {
    out.texts("deny", route.replay_headers_deny);
    out.texts("allow", route.replay_headers_allow);
  });
  out.text("replayed_header", route.replayed_header);
  out.text("store_down", route.store_down == StoreDown::pass ? "pass" : "refuse");
  out.mapping("statuses", [&] {
    out.count("mismatch", static_cast<std::uint64_t>(route.status_mismatch));
    out.count("in_progress", static_cast<std::uint64_t>(route.status_in_progress));
  });
  print_pauses(out, route.retry_after);
  out.mapping("cors", [&] {
    out.texts("origins", route.cors.origins);
    out.texts("expose", route.cors.expose);
    out.flag("credentials", route.cors.credentials);
  });
  out.text("errors", name_of(route.errors));
  out.text("docs_url", route.docs_url);
}

}  // namespace

void print_route(Yaml& out, const RouteConfig& route) {
  out.text("name", route.name);
  out.texts("aliases", route.aliases);
  out.text("path", route.path);
  if (!route.webhook) {
    out.texts("methods", route.methods);
    print_key(out, route.key);
    out.text("scope", name_of(route.scope));
    print_fingerprint(out, route.fingerprint);
    out.url("reauthorize", route.reauthorize ? text_of(*route.reauthorize) : "");
  }
  out.text("mode", route.mode == Mode::observe ? "observe" : "enforce");
  print_upstreams(out, route);
  out.text("forward_key", text_of(route.forward_key));
  out.text("in_progress", name_of(route.in_progress));
  out.duration("wait_timeout", route.wait_timeout);
  print_operation(out, route);
  print_resource(out, route.resource);
  out.texts("describe", route.describe);
  print_answers(out, route);
  print_limits(out, route.limits);
  if (route.webhook) print_webhook(out, *route.webhook);
}

}  // namespace semel::config::printing
