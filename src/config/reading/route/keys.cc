#include "config/reading/route/keys.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/reading/route/cors.h"
#include "config/reading/route/paths.h"
#include "config/reading/route/profiles.h"
#include "config/reading/route/upstreams.h"
#include "config/reading/route/webhook.h"
#include "config/reading/tls.h"

namespace semel::config::reading {
namespace {

using std::chrono::days;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// Each alias costs one more read of the store for every new key.
constexpr std::size_t kAliasesMax = 8;
constexpr std::size_t kPathLengthMax = 1024;
constexpr std::size_t kVersionLengthMax = 64;
constexpr std::size_t kBodySizeMax = std::size_t{1} << 30;

// Returns whether the key is allowed here; reports it if not.
bool is_in_route(const Field& field, const RouteDraft& draft) {
  if (draft.is_defaults) field.error("belongs to a route, not to defaults");
  return !draft.is_defaults;
}

void read_path(const Field& field, RouteDraft& draft) {
  if (!is_in_route(field, draft)) return;
  std::string path;
  field.read(path, 1, kPathLengthMax);
  if (path.empty()) return;
  if (const std::optional<std::string> wrong = path_error(path)) {
    field.bad_value(*wrong);
  } else {
    draft.config.path = std::move(path);
  }
}

void read_aliases(const Field& field, RouteDraft& draft) {
  if (!is_in_route(field, draft)) return;
  std::vector<std::string> aliases;
  for (const Field& item : field.items(kAliasesMax)) {
    std::string name;
    item.read(name, 1, kNameLengthMax);
    if (name.empty()) continue;
    if (std::ranges::count(aliases, name) > 0) {
      item.bad_value("is listed twice");
    } else {
      aliases.push_back(std::move(name));
    }
  }
  draft.config.aliases = std::move(aliases);
}

void read_methods(const Field& field, RouteDraft& draft) {
  constexpr std::array<std::string_view, 5> kNeverKeyed = {"GET", "HEAD", "OPTIONS", "TRACE",
                                                           "CONNECT"};
  std::vector<std::string> methods;
  for (const Field& item : field.items()) {
    std::optional<std::string> method = item.text();
    if (!method) continue;
    const bool has_lower_case =
        std::ranges::any_of(*method, [](char c) { return c >= 'a' && c <= 'z'; });
    if (!is_token(*method) || has_lower_case) {
      item.bad_value("is not a method in upper case, like POST");
    } else if (std::ranges::count(kNeverKeyed, *method) > 0) {
      item.bad_value("always ignores keys; it is proxied without being listed, so remove it");
    } else {
      methods.push_back(*std::move(method));
    }
  }
  draft.config.methods = std::move(methods);
}

void read_upstream(const Field& field, RouteDraft& draft) {
  const std::vector<Field> items = field.item_or_items();
  if (items.empty() && field.node().kind == NodeKind::sequence) {
    field.error("must name at least one upstream");
  }
  std::vector<Upstream> upstreams;
  for (const Field& item : items) {
    if (std::optional<Upstream> upstream = item.parsed(parse_upstream)) {
      upstreams.push_back(*std::move(upstream));
    }
  }
  draft.config.upstreams = std::move(upstreams);
}

void read_docs_url(const Field& field, RouteDraft& draft) {
  std::string url;
  field.read(url, 0, kTextLengthMax);
  const bool is_link =
      url.starts_with("https://") || url.starts_with("http://") || url.starts_with('/');
  // It goes into a Link header, between angle brackets.
  if (!url.empty() && (!is_link || url.find_first_of(" <>\"") != std::string::npos)) {
    field.bad_value("is not a link; write https://… or a path that begins with '/'");
    return;
  }
  draft.config.docs_url = std::move(url);
}

void read_reauthorize(const Field& field, RouteDraft& draft) {
  if (field.node().kind == NodeKind::scalar && field.node().text.empty()) {
    draft.config.reauthorize.reset();
  } else if (std::optional<Url> url = field.parsed(parse_url)) {
    draft.config.reauthorize = *std::move(url);
  }
}

void read_hold_for(const Field& field, RouteDraft& draft) {
  if (field.node().kind == NodeKind::scalar && field.node().text == "never") {
    draft.config.operation.hold_for = Duration::max();
  } else {
    field.read(draft.config.operation.hold_for, seconds(1));
  }
}

constexpr std::array kRouteKeys = std::to_array<Key<RouteDraft>>({
    {"name",
     [](const Field& f, RouteDraft& d) {
       if (is_in_route(f, d)) f.read(d.config.name, 1, kNameLengthMax);
     }},
    {"aliases", read_aliases},
    {"path", read_path},
    {"methods", read_methods},
    {"mode",
     [](const Field& f, RouteDraft& d) {
       read_choice(f, {{"enforce", Mode::enforce}, {"observe", Mode::observe}}, d.config.mode);
     }},
    {"profile", [](const Field& f, RouteDraft&) { read_profile(f); /* applied already */ }},
    {"upstream", read_upstream},
    {"upstream_tls",
     [](const Field& f, RouteDraft& d) { read_upstream_tls(f, d.config.upstream_tls); }},
    {"balance", [](const Field& f, RouteDraft& d) { read_balance(f, d.config.balance); }},
    {"fail_after", [](const Field& f, RouteDraft& d) { read_fail_after(f, d.config.balance); }},
    {"eject_for", [](const Field& f, RouteDraft& d) { read_eject_for(f, d.config.balance); }},
    {"slow_start", [](const Field& f, RouteDraft& d) { read_slow_start(f, d.config.balance); }},
    {"health", [](const Field& f, RouteDraft& d) { read_health(f, d.config.health); }},
    {"circuit", [](const Field& f, RouteDraft& d) { read_circuit(f, d.config.circuit); }},
    {"connect_timeout",
     [](const Field& f, RouteDraft& d) { f.read(d.config.connect_timeout, milliseconds(1)); }},
    {"upstream_timeout",
     [](const Field& f, RouteDraft& d) { f.read(d.config.upstream_timeout, milliseconds(1)); }},
    {"upstream_idle",
     [](const Field& f, RouteDraft& d) { f.read(d.config.upstream_idle, seconds(0)); }},
    {"late_answer",
     [](const Field& f, RouteDraft& d) { f.read(d.config.late_answer, seconds(0)); }},
    {"max_execution",
     [](const Field& f, RouteDraft& d) { f.read(d.config.operation.max_execution, seconds(1)); }},
    {"key", [](const Field& f, RouteDraft& d) { read_key(f, d.config.key); }},
    {"scope",
     [](const Field& f, RouteDraft& d) {
       read_choice(f,
                   {{"operation", ScopeKind::operation},
                    {"path", ScopeKind::path},
                    {"tenant", ScopeKind::tenant}},
                   d.config.scope);
     }},
    {"forward_key",
     [](const Field& f, RouteDraft& d) {
       read_choice(f,
                   {{"as-is", ForwardKey::as_is},
                    {"derived", ForwardKey::derived},
                    {"none", ForwardKey::none}},
                   d.config.forward_key);
     }},
    {"fingerprint",
     [](const Field& f, RouteDraft& d) { read_fingerprint(f, d.config.fingerprint); }},
    {"in_progress",
     [](const Field& f, RouteDraft& d) {
       read_choice(f,
                   {{"conflict", InProgress::conflict},
                    {"wait", InProgress::wait},
                    {"accept", InProgress::accept}},
                   d.config.in_progress);
     }},
    {"wait_timeout",
     [](const Field& f, RouteDraft& d) { f.read(d.config.wait_timeout, seconds(0), minutes(5)); }},
    {"outcomes", [](const Field& f, RouteDraft& d) { read_outcomes(f, d.outcomes); }},
    {"on_retry",
     [](const Field& f, RouteDraft& d) {
       read_choice(f, {{"keep", OnRetry::keep}, {"forget", OnRetry::forget}},
                   d.config.operation.on_retry);
     }},
    {"completes",
     [](const Field& f, RouteDraft& d) {
       read_choice(f, {{"gateway", Completes::gateway}, {"executor", Completes::executor}},
                   d.config.completes);
     }},
    {"unknown",
     [](const Field& f, RouteDraft& d) {
       read_choice(f,
                   {{"hold", UnknownPolicy::hold},
                    {"retry", UnknownPolicy::retry},
                    {"fail", UnknownPolicy::fail},
                    {"probe", UnknownPolicy::probe}},
                   d.config.operation.unknown);
     }},
    {"hold_for", read_hold_for},
    {"probe", [](const Field& f, RouteDraft& d) { read_probe(f, d.config.probe); }},
    {"lease", [](const Field& f, RouteDraft& d) { f.read(d.config.operation.lease, seconds(1)); }},
    {"ttl",
     [](const Field& f, RouteDraft& d) {
       d.has_ttl = true;
       f.read(d.config.operation.ttl, seconds(1), days(45));
     }},
    {"ttl_from",
     [](const Field& f, RouteDraft& d) {
       read_choice(f, {{"completion", false}, {"creation", true}},
                   d.config.operation.ttl_from_creation);
     }},
    {"tombstone",
     [](const Field& f, RouteDraft& d) { f.read(d.config.operation.tombstone, seconds(0)); }},
    {"response_version",
     [](const Field& f, RouteDraft& d) {
       f.read(d.config.operation.response_version, 1, kVersionLengthMax);
     }},
    {"on_version_change",
     [](const Field& f, RouteDraft& d) {
       read_choice(f, {{"gone", OnVersionChange::gone}, {"new", OnVersionChange::fresh}},
                   d.config.operation.on_version_change);
     }},
    {"resource", [](const Field& f, RouteDraft& d) { read_resource(f, d.config.resource); }},
    {"describe", [](const Field& f, RouteDraft& d) { read_describe(f, d.config.describe); }},
    {"max_request_body",
     [](const Field& f, RouteDraft& d) {
       f.read_size(d.config.max_request_body, 0, kBodySizeMax);
     }},
    {"max_stored_body",
     [](const Field& f, RouteDraft& d) { f.read_size(d.config.max_stored_body, 0, kBodySizeMax); }},
    {"max_spilled_body",
     [](const Field& f, RouteDraft& d) {
       f.read_size(d.config.max_spilled_body, 0, kBodySizeMax);
     }},
    {"replay_headers",
     [](const Field& f, RouteDraft& d) { read_replay_headers(f, d.config); }},
    {"replayed_header",
     [](const Field& f, RouteDraft& d) { read_replayed_header(f, d.config.replayed_header); }},
    {"reauthorize", read_reauthorize},
    {"store_down",
     [](const Field& f, RouteDraft& d) {
       read_choice(f, {{"refuse", StoreDown::refuse}, {"pass", StoreDown::pass}},
                   d.config.store_down);
     }},
    {"statuses", [](const Field& f, RouteDraft& d) { read_statuses(f, d.config); }},
    {"retry_after",
     [](const Field& f, RouteDraft& d) { read_retry_after(f, d.config.retry_after); }},
    {"cors", [](const Field& f, RouteDraft& d) { read_cors(f, d.config.cors); }},
    {"errors",
     [](const Field& f, RouteDraft& d) {
       read_choice(f,
                   {{"problem", core::ErrorShape::problem},
                    {"flat", core::ErrorShape::flat},
                    {"nested", core::ErrorShape::nested}},
                   d.config.errors);
     }},
    {"docs_url", read_docs_url},
    {"limits", [](const Field& f, RouteDraft& d) { read_limits(f, d.config.limits); }},
    {"webhook",
     [](const Field& f, RouteDraft& d) {
       if (is_in_route(f, d)) read_webhook(f, d.config.webhook);
     }},
});

}  // namespace

void read_route_keys(const Field& mapping, RouteDraft& draft) {
  read_mapping(mapping, kRouteKeys, draft);
}

void read_route_key(const Field& value, std::string_view name, RouteDraft& draft) {
  std::ranges::find(kRouteKeys, name, &Key<RouteDraft>::name)->read(value, draft);
}

}  // namespace semel::config::reading
