// Says what the gateway would make of a request: the functions that decide are those that serve a
// client. Nothing is executed, sent or stored.
#include "gateway/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>

#include "config/own_paths.h"
#include "config/policy_page.h"
#include "core/fingerprint/body_hash.h"
#include "core/fingerprint/content_digest.h"
#include "execution/call.h"
#include "execution/description.h"
#include "execution/operation_name.h"
#include "gateway/keyed/exchange.h"
#include "gateway/keyed/request_key.h"
#include "gateway/tenant/caller.h"
#include "gateway/tenant/header_tenant.h"
#include "http/target.h"
#include "runtime/key_material.h"
#include "runtime/routing.h"
#include "semel/driver/scope.h"

namespace semel::gateway {
namespace {

namespace json = boost::json;
using config::RouteConfig;

constexpr const char* tenant_source(config::TenantSource from) {
  switch (from) {
    case config::TenantSource::none:
      return "none";
    case config::TenantSource::authorization:
      return "authorization";
    case config::TenantSource::header:
      return "header";
    case config::TenantSource::jwt:
      return "jwt";
    case config::TenantSource::introspect:
      return "introspect";
    case config::TenantSource::mtls:
      return "mtls";
  }
  return "";
}

constexpr const char* recipe_name(BodyRecipe recipe) {
  switch (recipe) {
    case BodyRecipe::json:
      return "json";
    case BodyRecipe::form:
      return "form";
    case BodyRecipe::raw:
      return "raw";
    case BodyRecipe::none:
      return "none";
    case BodyRecipe::multipart:
      return "multipart";
    case BodyRecipe::digest:
      return "digest";
  }
  return "";
}

// Shows bytes that are not printable ASCII as \xNN.
std::string escaped(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += c >= ' ' && c <= '~' && c != '\\' ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return out;
}

std::optional<std::string> joined(const http::Request& message, std::string_view name) {
  std::optional<std::string> out;
  for (const http::Field& field : message.fields()) {
    if (!http::iequals(field.name, name)) continue;
    out = out ? *out + ", " + std::string(field.value) : std::string(field.value);
  }
  return out;
}

// Walks through the steps of a request and notes what each finds. A step that refuses is the last.
class Explanation {
 public:
  Explanation(const ExplainedRequest& request, const config::Config& config,
              const runtime::KeyMaterial& keys, Time now)
      : request_(request), message_(request.message), config_(config), keys_(keys), now_(now) {}

  json::object make() {
    if (find_route() && find_header_key() && find_tenant() && find_fingerprint()) decide();
    return std::move(out_);
  }

 private:
  // Ends the explanation: nothing reaches an upstream. Returns false.
  bool refused(int status, std::string_view code, const std::string& why) {
    out_["result"] = "refused";
    out_["status"] = status;
    out_["code"] = code;
    out_["why"] = why;
    return false;
  }
  bool refused(core::Code code, const std::string& why) {
    return refused(core::default_status(code), core::to_string(code), why);
  }

  bool find_route() {
    auto target = http::parse_target(message_.target());
    if (!target) return refused(400, "bad-request", std::string(target.error()));
    target_ = *std::move(target);
    if (target_.path.starts_with(config::kReservedPath)) {
      out_["result"] = "answered by the gateway itself";
      return false;
    }
    const auto matched = runtime::Router(config_.routes).match(target_.path);
    if (!matched) return refused(core::Code::no_route, "No route is configured for this path.");
    route_ = &config_.routes[*matched];
    out_["route"] = route_->name;
    out_["path"] = route_->path;
    out_["mode"] = route_->mode == config::Mode::observe ? "observe" : "enforce";
    if (gateway::evades_key(message_, *route_)) {
      return refused(400, "bad-request", "Write the method in upper case.");
    }
    const bool keyed = gateway::is_keyed(message_, *route_);
    out_["keyed"] = keyed;
    if (!keyed && route_->webhook) return refused(405, "bad-request", "Send events by POST.");
    if (keyed) return true;
    out_["result"] = "proxied without a record";
    out_["why"] = why_not_keyed();
    return false;
  }

  std::string why_not_keyed() const {
    if (std::ranges::find(route_->methods, message_.method()) == route_->methods.end()) {
      return fmt::format("{} is not one of the route's methods.", message_.method());
    }
    return fmt::format("It has no {}, and the route does not require one (key.required).",
                       route_->key.header);
  }

  bool find_header_key() {
    if (route_->webhook) {
      out_["tenant"] = json::object{{"from", "webhook"}, {"name", config::kWebhookTenant}};
      out_["key"] = json::object{{"from", "event"}};
      out_["webhook"] = route_->webhook->scheme.name;
      out_["result"] = "verified, then executed once per event";
      out_["why"] = "The key is in the event, whose signature has to be verified first.";
      return false;
    }
    return take(gateway::key_from_headers(route_->key, message_), "header");
  }

  // False: the key is bad.
  bool take(gateway::FoundKey found, const char* from) {
    if (const auto* bad = std::get_if<gateway::found_key::Bad>(&found)) {
      return refused(core::Code::key_invalid, bad->why);
    }
    if (auto* key = std::get_if<gateway::found_key::Key>(&found)) {
      key_ = std::move(key->key);
      out_["key"] = json::object{{"from", from}, {"value", *key_}};
    }
    const bool is_missing = !key_ && route_->key.from == config::KeySource::header;
    if (!is_missing) return true;
    return refused(core::Code::key_missing, "Send a unique key for this operation in the header " +
                                                route_->key.header + ".");
  }

  bool find_tenant() {
    const config::TenantConfig& tenant = config_.tenant;
    json::object shown{{"from", tenant_source(tenant.from)}};
    std::expected<std::string, std::string> found = request_.tenant.value_or("");
    if (request_.tenant) {
      shown["assumed"] = true;
    } else if (tenant.from == config::TenantSource::jwt) {
      found = gateway::tenant_of_token(*keys_.tokens->current(), tenant.jwt, message_, now_);
    } else if (tenant.from == config::TenantSource::mtls ||
               tenant.from == config::TenantSource::introspect) {
      found = std::unexpected(tenant.from == config::TenantSource::mtls
                                  ? "It is in the client's certificate; assume one with --tenant."
                                  : "It has to be asked for; assume one with --tenant.");
    } else {
      found = gateway::find_tenant(tenant, message_, request_.from_trusted_proxy);
    }
    if (found) shown["name"] = *found;
    out_["tenant"] = std::move(shown);
    if (!found) return refused(core::Code::tenant_unknown, found.error());
    tenant_ = *std::move(found);
    return true;
  }

  bool find_fingerprint() {
    if (request_.body.size() > route_->max_request_body) {
      return refused(core::Code::body_too_large,
                     fmt::format("The body of a request with a key may have at most {} bytes here.",
                                 route_->max_request_body));
    }
    const std::string type(message_.field("Content-Type").value_or(""));
    bool has_digest = false;
    if (route_->fingerprint.body == config::BodyFingerprint::digest) {
      const auto promised =
          core::ContentDigest::parse(joined(message_, "Content-Digest").value_or(""));
      if (!promised) return refused(400, "bad-request", promised.error());
      has_digest = promised->has_value();
    }
    const Recipe recipe =
        execution::recipe_of(route_->fingerprint, keys_.hash_keys, type, has_digest);
    RequestView view;
    view.method = message_.method();
    view.path = target_.path;
    view.query = target_.query;
    view.content_type = type;
    view.body = request_.body;
    view.header = [this](std::string_view name) { return joined(message_, name); };
    const Fingerprint made =
        execution::fingerprint_under_key(make_fingerprint(recipe, view), recipe, keys_.hash_keys);
    show(recipe, made);
    if (!key_ && route_->key.from == config::KeySource::fingerprint) {
      return take(gateway::found_key::Key{RecordId{made.digest}.hex()}, "fingerprint");
    }
    return true;
  }

  void show(const Recipe& recipe, const Fingerprint& made) {
    Fingerprint other = made;
    for (std::uint64_t& part : other.parts) ++part;
    const std::vector<std::string> names = differing_parts(recipe, made, other);
    json::array parts;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == "query" && !recipe.query) continue;
      parts.push_back(
          json::object{{"part", names[i]}, {"digest", fmt::format("{:016x}", made.parts[i])}});
    }
    json::object shown{{"digest", RecordId{made.digest}.hex()},
                       {"body", recipe_name(recipe.body)},
                       {"parts", std::move(parts)}};
    const auto form = core::canonical_body(recipe, request_.body);
    shown["canonical"] = form ? json::value(escaped(*form)) : json::value(nullptr);
    if (!recipe.hash_key_id.empty()) shown["hash_key"] = recipe.hash_key_id;
    out_["fingerprint"] = std::move(shown);
  }

  void decide() {
    if (!key_ &&
        !take(gateway::key_from_body(route_->key, joined(message_, "Content-Encoding").value_or(""),
                                     request_.body),
              "body")) {
      return;
    }
    if (!key_ && route_->key.required) {
      refused(core::Code::key_missing,
              "Send a unique key for this operation at " + route_->key.pointer + " in the body.");
      return;
    }
    if (!key_) {
      out_["result"] = "proxied without a record";
      out_["why"] = "There is no key at " + route_->key.pointer + ", and none is required.";
      return;
    }
    const std::string operation = execution::operation_name(*route_, route_->name, target_);
    out_["operation"] = operation;
    out_["record"] = make_id({config_.name_space, tenant_, operation}, *key_).hex();
    show_description();
    out_["result"] =
        route_->mode == config::Mode::observe ? "passed on and observed" : "executed once per key";
    const json::value page = json::parse(config::make_policy_page(config_));
    for (const json::value& one : page.at("routes").as_array()) {
      if (one.at("name").as_string() == route_->name) out_["policy"] = one;
    }
  }

  // Shows what the record would keep for people, where the route names members for that.
  void show_description() {
    if (route_->describe.empty() || route_->mode == config::Mode::observe) return;
    const Description kept = execution::describe(config_, message_.method(), target_.path,
                                                 route_->describe, request_.body);
    json::object members;
    for (const DescribedMember& member : kept.members) members[member.pointer] = member.value;
    out_["described"] = std::move(members);
  }

  const ExplainedRequest& request_;
  const http::Request& message_;
  const config::Config& config_;
  const runtime::KeyMaterial& keys_;
  const Time now_;
  http::Target target_;
  const RouteConfig* route_ = nullptr;
  std::optional<std::string> key_;
  std::string tenant_;
  json::object out_;
};

}  // namespace

std::optional<std::string> make_message(std::string_view method, std::string_view target,
                                        const std::vector<std::string>& headers,
                                        std::size_t body_bytes, http::Request& message) {
  std::string head = fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\n", method, target);
  for (const std::string& header : headers) {
    if (header.find(':') == header.npos || header.find_first_of("\r\n") != header.npos) {
      return "a header must be 'Name: value', on one line";
    }
    head += header + "\r\n";
  }
  if (body_bytes > 0) head += fmt::format("Content-Length: {}\r\n", body_bytes);
  const auto wrong = message.parse_head(head + "\r\n");
  if (wrong) return "this is not a request: " + *wrong;
  return std::nullopt;
}

json::object explain_request(const ExplainedRequest& request, const config::Config& config,
                             const runtime::KeyMaterial& keys, Time now) {
  return Explanation(request, config, keys, now).make();
}

}  // namespace semel::gateway
