#include "config/policy_page.h"

#include <boost/json.hpp>

#include "config/own_paths.h"

namespace semel {
namespace json = boost::json;
namespace {

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

json::array list(const std::vector<std::string>& texts) {
  return json::array(texts.begin(), texts.end());
}

std::string_view name_of(KeySource source) {
  switch (source) {
    case KeySource::header:
      return "header";
    case KeySource::pointer:
      return "pointer";
    case KeySource::fingerprint:
      return "fingerprint";
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

std::string_view name_of(UnknownPolicy policy) {
  switch (policy) {
    case UnknownPolicy::hold:
      return "hold";
    case UnknownPolicy::retry:
      return "retry";
    case UnknownPolicy::fail:
      return "fail";
    case UnknownPolicy::probe:
      return "probe";
  }
  return "";
}

json::object key_of(const KeyConfig& key) {
  json::object out;
  out["required"] = key.required;
  out["from"] = name_of(key.from);
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
  out["ttl_seconds"] = seconds(route.policy.ttl);
  out["ttl_from"] = route.policy.ttl_from_creation ? "creation" : "completion";
  out["tombstone_seconds"] = seconds(route.policy.tombstone);
  out["in_progress"] = name_of(route.in_progress);
  if (route.in_progress == InProgress::accept) {
    out["respond_async"] = {{"status_at", std::string(kOperationsPath) + "{handle}"},
                            {"max_request_body", kQueuedBodyBytesMax}};
  }
  out["unknown"] = name_of(route.policy.unknown);
  out["statuses"] = {{"mismatch", route.status_mismatch},
                     {"in_progress", route.status_in_progress},
                     {"missing", default_status(Code::key_missing)},
                     {"invalid", default_status(Code::key_invalid)},
                     {"expired", default_status(Code::key_expired)}};
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
  return json::serialize(json::object{{"routes", std::move(routes)}});
}

}  // namespace semel
