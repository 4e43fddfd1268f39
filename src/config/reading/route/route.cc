#include "config/reading/route/route.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>

#include "base/text.h"
#include "config/reading/route/keys.h"
#include "config/reading/route/profiles.h"
#include "config/reading/route/upstreams.h"
#include "config/reading/route/webhook.h"
#include "config/reading/tls.h"

namespace semel::config::reading {
namespace {

constexpr Duration kFingerprintKeyTtlMax = std::chrono::minutes(10);

const Profile& find_profile(const Field& route, const std::optional<Field>& defaults) {
  if (route.node().find("profile") != nullptr) return read_profile(route.at("profile"));
  // A profile says how clients are answered. A provider of webhooks is not such a client, and would
  // not deliver again an event whose status a profile takes as final.
  if (route.node().find("webhook") != nullptr) return default_profile();
  if (defaults && defaults->node().find("profile") != nullptr) {
    return read_profile(defaults->at("profile"));
  }
  return default_profile();
}

void check_key(const Field& key, const RouteDraft& draft) {
  if (draft.config.webhook) return;
  const KeyConfig& config = draft.config.key;
  if (config.rules.min_length > config.rules.max_length) {
    key.at("min_length")
        .error(fmt::format("is {}, more than max_length, which is {}", config.rules.min_length,
                           config.rules.max_length));
  }
  if (config.from == KeySource::pointer && config.pointer.empty()) {
    key.at("pointer").error("required with from: pointer, like /idempotency_key");
  }
  if (config.from != KeySource::pointer && !config.pointer.empty()) {
    key.at("pointer").warn("has no effect without from: pointer");
  }
  if (config.from == KeySource::fingerprint &&
      (!draft.has_ttl || draft.config.operation.ttl > kFingerprintKeyTtlMax)) {
    key.at("from").error(
        fmt::format("fingerprint makes identical requests one operation, so the route needs a ttl "
                    "of at most {}",
                    format_duration(kFingerprintKeyTtlMax)));
  }
}

// A client that sees one name in requests and answers would take the mark for its key, echoed.
void check_replayed_header(const Field& route, const RouteConfig& config) {
  if (config.webhook) return;
  const std::string name = base::lower_case(config.replayed_header);
  const auto is_same = [&](const std::string& other) { return base::lower_case(other) == name; };
  if (is_same(config.key.header) || std::ranges::any_of(config.key.aliases, is_same)) {
    route.at("replayed_header")
        .error(fmt::format("is {}, from which the route takes its key; choose another name",
                           config.replayed_header));
  }
}

void check_route(const Field& route, const std::optional<Field>& defaults,
                 const RouteDraft& draft) {
  const auto is_given = [&](std::string_view name) {
    return route.node().find(name) != nullptr ||
           (defaults && defaults->node().find(name) != nullptr);
  };
  if (route.node().find("path") == nullptr) {
    route.at("path").error("required; /* matches every path");
  }
  if (!is_given("upstream")) {
    route.at("upstream").error("required, like http://127.0.0.1:3000");
  }
  check_key(route.at("key"), draft);
  check_replayed_header(route, draft.config);
  if (draft.config.resource.type.empty() != draft.config.resource.id.empty()) {
    route.at("resource").error("needs both a type, like charge, and an id, like /id or Location");
  }
  check_upstream_tls(route, draft.config);
  check_upstreams(route, draft.config);
  const RouteConfig& config = draft.config;
  const bool probes = config.operation.unknown == UnknownPolicy::probe;
  if (probes && config.probe.url.target.empty()) {
    route.at("probe").error(
        "required with unknown: probe, like {url: \"http://127.0.0.1:3000/outcomes?key={key}\"}");
  }
  if (probes && config.forward_key == ForwardKey::none &&
      config.probe.url.target.contains("{key}")) {
    route.at("probe").error(
        "asks by {key}, which the executor never sees with forward_key: none; use {record}");
  }
  if (!probes && is_given("probe")) {
    route.at("probe").warn("has no effect without unknown: probe");
  }
  if (config.completes == Completes::executor && config.operation.unknown == UnknownPolicy::fail) {
    route.at("unknown").error(
        "fail would make a failure final although the executor may still commit; with completes: "
        "executor use retry, which is exact there, or hold");
  }
  if (config.completes == Completes::executor && config.webhook &&
      config.webhook->mode == WebhookMode::queue) {
    route.at("completes")
        .error(
            "executor is not allowed with webhook mode: queue, because a release by the service "
            "would drop an acknowledged event; use mode: direct");
  }
  if (config.operation.max_execution < config.upstream_timeout) {
    route.at("max_execution")
        .warn(fmt::format("is {}, shorter than upstream_timeout, which is {}: the lease of a slow "
                          "execution expires while Semel still waits for it",
                          format_duration(config.operation.max_execution),
                          format_duration(config.upstream_timeout)));
  }
}

}  // namespace

void check_defaults(const Field& defaults) {
  RouteDraft draft;
  draft.is_defaults = true;
  read_route_keys(defaults, draft);
}

RouteConfig read_route(const Field& route, const std::optional<Field>& defaults) {
  RouteDraft draft;
  if (!is_mapping(route)) return draft.config;
  Report reported_elsewhere;
  std::optional<Field> quiet_defaults;
  if (defaults) quiet_defaults = defaults->reporting_to(reported_elsewhere);

  find_profile(route.reporting_to(reported_elsewhere), quiet_defaults).apply(draft);
  if (quiet_defaults) {
    draft.is_defaults = true;
    read_route_keys(*quiet_defaults, draft);
    draft.is_defaults = false;
  }
  read_route_keys(route, draft);
  fit_webhook(route, quiet_defaults, draft);

  check_route(route, defaults, draft);
  draft.config.outcomes = make_rules(draft.outcomes);
  draft.config.line = route.node().line;
  if (draft.config.name.empty()) draft.config.name = draft.config.path;
  return draft.config;
}

}  // namespace semel::config::reading
