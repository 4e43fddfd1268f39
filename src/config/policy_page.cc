#include "config/policy_page.h"

#include <boost/json.hpp>

#include "base/names.h"
#include "config/own_paths.h"
#include "core/json_text.h"

namespace semel::config {
namespace json = boost::json;
namespace {

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

json::array list(const std::vector<std::string>& texts) {
  return json::array(texts.begin(), texts.end());
}

constexpr auto kKeySources = base::names<KeySource::fingerprint>({
    {KeySource::header, "header"},
    {KeySource::pointer, "pointer"},
    {KeySource::fingerprint, "fingerprint"},
});

constexpr auto kInProgress = base::names<InProgress::accept>({
    {InProgress::conflict, "conflict"},
    {InProgress::wait, "wait"},
    {InProgress::accept, "accept"},
});

constexpr auto kUnknownPolicies = base::names<UnknownPolicy::probe>({
    {UnknownPolicy::hold, "hold"},
    {UnknownPolicy::retry, "retry"},
    {UnknownPolicy::fail, "fail"},
    {UnknownPolicy::probe, "probe"},
});

json::object key_of(const KeyConfig& key) {
  json::object out;
  out["required"] = key.required;
  out["from"] = kKeySources[key.from];
  out["header"] = key.header;
  out["aliases"] = list(key.aliases);
  if (key.from == KeySource::pointer) out["pointer"] = key.pointer;
  out["min_length"] = key.rules.min_length;
  out["max_length"] = key.rules.max_length;
  return out;
}

json::object route_of(const RouteConfig& route) {
  json::object out;
  out["name"] = route.name;
  out["path"] = route.path;
  out["methods"] = list(route.methods);
  out["mode"] = route.mode == Mode::observe ? "observe" : "enforce";
  if (route.webhook) {
    out["webhook"] = {{"provider", route.webhook->scheme.name},
                      {"mode", route.webhook->mode == WebhookMode::queue ? "queue" : "direct"}};
  } else {
    out["required"] = route.key.required;
    out["key"] = key_of(route.key);
  }
  out["ttl_seconds"] = seconds(route.operation.ttl);
  out["ttl_from"] = route.operation.ttl_from_creation ? "creation" : "completion";
  out["tombstone_seconds"] = seconds(route.operation.tombstone);
  out["in_progress"] = kInProgress[route.in_progress];
  if (route.in_progress == InProgress::accept) {
    out["respond_async"] = {{"status_at", std::string(kOperationsPath) + "{handle}"},
                            {"max_request_body", kQueuedBodyBytesMax}};
  }
  out["unknown"] = kUnknownPolicies[route.operation.unknown];
  out["statuses"] = {{"mismatch", route.status_mismatch},
                     {"in_progress", route.status_in_progress},
                     {"missing", core::default_status(core::Code::key_missing)},
                     {"invalid", core::default_status(core::Code::key_invalid)},
                     {"expired", core::default_status(core::Code::key_expired)}};
  out["limits"] = {{"max_request_body", route.max_request_body},
                   {"max_stored_body", route.max_stored_body},
                   {"new_keys_per_second", route.limits.new_keys_per_second},
                   {"burst", route.limits.burst},
                   {"live_keys", route.limits.live_keys},
                   {"in_flight", route.limits.in_flight}};
  return out;
}

}  // namespace

std::string make_policy_page(const Config& config) {
  json::array routes;
  for (const RouteConfig& route : config.routes) {
    if (!route.methods.empty()) routes.push_back(route_of(route));
  }
  return core::json_text(json::object{{"routes", std::move(routes)}});
}

}  // namespace semel::config
