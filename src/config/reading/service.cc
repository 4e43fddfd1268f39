#include "config/reading/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "config/reading/route/parts.h"

namespace semel::config::reading {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::seconds;

constexpr std::size_t kClientsMax = 1000;
constexpr std::size_t kClientNameLengthMax = 64;
constexpr std::size_t kAllowedMax = 10'000;
constexpr std::size_t kTenantLengthMax = 255;
constexpr std::size_t kBodyBytesMin = 1024;
constexpr std::size_t kBodyBytesMax = 16 * 1024 * 1024;
constexpr Duration kLeaseMax = hours(24);

void read_listen_of(const Field& field, ServiceConfig& out) {
  const std::optional<HostPort> address = field.parsed(parse_listen);
  if (!address) return;
  if (!is_loopback(address->host)) {
    field.warn(
        "can be reached from other machines over plain HTTP, which exposes the tokens; keep it "
        "private, or put a proxy with TLS before it");
  }
  out.listen = *address;
}

void read_client_name(const Field& field, ServiceClient& out) {
  const std::optional<std::string> value = field.text();
  if (!value) return;
  const auto fits = [](char c) {
    return c == '.' || c == '-' || is_name({&c, 1}) || (c >= '0' && c <= '9');
  };
  if (value->empty() || value->size() > kClientNameLengthMax ||
      !std::ranges::all_of(*value, fits)) {
    field.bad_value("must be 1 to 64 letters, digits, '_', '.' or '-'");
    return;
  }
  out.name = *value;
}

void read_token_env(const Field& field, ServiceClient& out) {
  const std::optional<std::string> value = field.text();
  if (!value) return;
  if (!is_name(*value)) {
    field.bad_value("is not the name of an environment variable");
    return;
  }
  out.token_env = *value;
}

// A list of names, or "*" for all of them.
void read_allowed(const Field& field, Allowed& out, std::size_t length_min,
                  std::size_t length_max) {
  if (field.node().kind == NodeKind::scalar && field.node().text == "*") {
    out.all = true;
    return;
  }
  const std::vector<Field> items = field.items(kAllowedMax);
  if (items.empty() && field.node().kind == NodeKind::sequence) {
    field.error("is empty; list names, or write \"*\" for all");
  }
  for (const Field& item : items) {
    std::string name;
    item.read(name, length_min, length_max);
    if (std::ranges::count(out.names, name) > 0) item.bad_value("is listed twice");
    out.names.push_back(std::move(name));
  }
}

constexpr std::array kClientKeys = std::to_array<Key<ServiceClient>>({
    {"name", read_client_name},
    {"token_file",
     [](const Field& f, ServiceClient& out) { f.read(out.token_file, 1, kFilePathLengthMax); }},
    {"token_env", read_token_env},
    {"tenants",
     [](const Field& f, ServiceClient& out) { read_allowed(f, out.tenants, 0, kTenantLengthMax); }},
    {"operations", [](const Field& f,
                      ServiceClient& out) { read_allowed(f, out.operations, 1, kNameLengthMax); }},
});

void read_clients(const Field& field, ServiceConfig& out) {
  for (const Field& item : field.items(kClientsMax)) {
    ServiceClient client;
    read_mapping(item, kClientKeys, client);
    if (item.node().kind != NodeKind::mapping) continue;
    for (const std::string_view key : {"name", "tenants", "operations"}) {
      if (item.node().find(std::string(key)) == nullptr) item.at(key).error("required");
    }
    if (client.token_file.empty() == client.token_env.empty()) {
      item.error("needs one of token_file and token_env");
    }
    if (std::ranges::count(out.clients, client.name, &ServiceClient::name) > 0) {
      item.at("name").bad_value("is the name of an earlier client");
    }
    out.clients.push_back(std::move(client));
  }
}

void read_service_hold_for(const Field& field, ServiceOperation& out) {
  if (field.node().kind == NodeKind::scalar && field.node().text == "never") {
    out.operation.hold_for = Duration::max();
  } else {
    field.read(out.operation.hold_for, seconds(1));
  }
}

constexpr std::array kOperationKeys = std::to_array<Key<ServiceOperation>>({
    {"lease", [](const Field& f,
                 ServiceOperation& out) { f.read(out.operation.lease, seconds(1), kLeaseMax); }},
    {"ttl", [](const Field& f,
               ServiceOperation& out) { f.read(out.operation.ttl, seconds(1), days(45)); }},
    {"tombstone",
     [](const Field& f, ServiceOperation& out) { f.read(out.operation.tombstone, seconds(0)); }},
    {"hold_for", read_service_hold_for},
    {"unknown",
     [](const Field& f, ServiceOperation& out) {
       read_choice(f, {{"hold", UnknownPolicy::hold}, {"retry", UnknownPolicy::retry}},
                   out.operation.unknown);
     }},
    {"limits", [](const Field& f, ServiceOperation& out) { read_limits(f, out.limits); }},
});

void read_operations(const Field& field, ServiceConfig& out) {
  if (!is_mapping(field)) return;
  for (const Node& child : field.node().children) {
    const Field value = field.at(child.name);
    ServiceOperation operation;
    operation.name = child.name;
    if (child.name.empty() || child.name.size() > kNameLengthMax || !is_printable(child.name)) {
      value.error("the name of an operation has 1 to 128 printable characters");
    }
    if (value.node().kind != NodeKind::null) read_mapping(value, kOperationKeys, operation);
    if (operation.limits.in_flight > 0) {
      value.at("limits")
          .at("in_flight")
          .error("has no effect here, because the clients execute; limit them where they run");
    }
    out.operations.push_back(std::move(operation));
  }
}

constexpr std::array kServiceKeys = std::to_array<Key<ServiceConfig>>({
    {"listen", read_listen_of},
    {"max_body",
     [](const Field& f, ServiceConfig& out) {
       f.read_size(out.max_body, kBodyBytesMin, kBodyBytesMax);
     }},
    {"clients", read_clients},
    {"operations", read_operations},
});

bool is_configured(const Config& config, const std::string& operation) {
  return std::ranges::count(config.service->operations, operation, &ServiceOperation::name) > 0 ||
         std::ranges::count(config.routes, operation, &RouteConfig::name) > 0;
}

}  // namespace

void read_service(const Field& field, ServiceConfig& out) {
  read_mapping(field, kServiceKeys, out);
  if (field.node().kind == NodeKind::mapping && out.clients.empty()) {
    field.at("clients").error("required; at least one client, or nobody could use it");
  }
}

void check_service(const Field& field, const Config& config) {
  const ServiceConfig& service = *config.service;
  const auto is_taken = [&](const HostPort& other) {
    return service.listen.port != 0 && other == service.listen;
  };
  if (std::ranges::any_of(config.listen, is_taken) || is_taken(config.admin.listen)) {
    field.at("listen").error(fmt::format("port {} of {} is already used by listen or admin.listen",
                                         service.listen.port, service.listen.host));
  }
  const bool is_shared = config.store.kind != stores::StoreKind::embedded &&
                         config.store.kind != stores::StoreKind::memory;
  for (const ServiceOperation& operation : service.operations) {
    if (operation.limits.live_keys == 0 || !is_shared) continue;
    field.at("operations")
        .at(operation.name)
        .at("limits")
        .at("live_keys")
        .error("needs store: {kind: embedded}, where one process sees all records");
  }
  if (field.node().find("clients") == nullptr) return;
  const std::vector<Field> clients = field.at("clients").items(kClientsMax);
  for (std::size_t i = 0; i < std::min(clients.size(), service.clients.size()); ++i) {
    for (const std::string& name : service.clients[i].operations.names) {
      if (name.empty() || is_configured(config, name)) continue;
      clients[i]
          .at("operations")
          .error(fmt::format("{} is not configured; add it to service.operations, or name a route",
                             quote(name)));
    }
  }
}

}  // namespace semel::config::reading
