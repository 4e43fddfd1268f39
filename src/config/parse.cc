#include "config/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <tuple>
#include <utility>

#include "config/reading/consume.h"
#include "config/reading/reader.h"
#include "config/reading/relay.h"
#include "config/reading/route/paths.h"
#include "config/reading/route/route.h"
#include "config/reading/service.h"
#include "config/reading/store.h"
#include "config/reading/telemetry.h"
#include "config/reading/tenant.h"
#include "config/reading/tls.h"
#include "config/reading/tree.h"
#include "config/reading/values.h"

namespace semel::config {
namespace reading {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kWorkersMax = 256;
constexpr std::size_t kNamespaceLengthMax = 64;
constexpr std::size_t kConnectionsMax = 1'000'000;
constexpr std::size_t kKeysLimitMax = 1'000'000'000;
constexpr std::size_t kSpoolBytesMin = 1 << 20;
constexpr std::size_t kRoutesMax = 2000;

// Routes are read after everything else, wherever they are in the file.
struct FileDraft {
  Config config;
  std::optional<Field> defaults;
  std::optional<Field> routes;
};

void read_listen(const Field& field, FileDraft& draft) {
  const std::vector<Field> items = field.item_or_items();
  if (items.empty() && field.node().kind == NodeKind::sequence) {
    field.error("must name at least one address");
  }
  draft.config.listen.clear();
  for (const Field& item : items) {
    const std::optional<HostPort> address = item.parsed(parse_listen);
    if (!address) continue;
    if (address->port != 0 && std::ranges::count(draft.config.listen, *address) > 0) {
      item.bad_value("is listed twice");
    }
    draft.config.listen.push_back(*address);
  }
}

void read_workers(const Field& field, FileDraft& draft) {
  std::size_t workers = draft.config.workers;
  field.read_count(workers, 0, kWorkersMax);
  draft.config.workers = static_cast<unsigned>(workers);
}

void read_namespace(const Field& field, FileDraft& draft) {
  const std::optional<std::string> value = field.text();
  if (!value) return;
  const bool is_valid =
      !value->empty() && value->size() <= kNamespaceLengthMax &&
      std::ranges::all_of(*value, [](char c) {
        return c == '.' || c == '-' || c == '_' || is_name({&c, 1}) || (c >= '0' && c <= '9');
      });
  if (!is_valid) {
    field.bad_value("must be 1 to 64 letters, digits, '_', '.' or '-'");
    return;
  }
  draft.config.name_space = *value;
}

void read_admin_listen(const Field& field, FileDraft& draft) {
  const std::optional<HostPort> address = field.parsed(parse_listen);
  if (!address) return;
  if (!is_loopback(address->host)) {
    field.warn(
        "can be reached from other machines over plain HTTP, which exposes the tokens; keep it "
        "private");
  }
  draft.config.admin.listen = *address;
}

constexpr std::array kAdminKeys = std::to_array<Key<FileDraft>>({
    {"listen", read_admin_listen},
    {"tokens_file",
     [](const Field& f, FileDraft& d) {
       f.read(d.config.admin.tokens_file, 1, kFilePathLengthMax);
     }},
});

void read_trusted_proxies(const Field& field, FileDraft& draft) {
  for (const Field& item : field.items()) {
    const std::optional<AddressRange> range = item.parsed(parse_address_range);
    if (!range) continue;
    if (is_everyone(*range)) {
      item.warn("trusts every caller; any of them can then claim any tenant and any address");
    }
    draft.config.trusted_proxies.push_back(*range);
  }
}

constexpr std::array kLimitsKeys = std::to_array<Key<LimitsConfig>>({
    {"connections",
     [](const Field& f, LimitsConfig& out) { f.read_count(out.connections, 1, kConnectionsMax); }},
    {"header_bytes",
     [](const Field& f, LimitsConfig& out) { f.read_size(out.header_bytes, 1024, 1024 * 1024); }},
    {"header_timeout",
     [](const Field& f, LimitsConfig& out) { f.read(out.header_timeout, milliseconds(1)); }},
    {"body_timeout",
     [](const Field& f, LimitsConfig& out) { f.read(out.body_timeout, milliseconds(1)); }},
    {"in_flight",
     [](const Field& f, LimitsConfig& out) { f.read_count(out.in_flight, 1, kConnectionsMax); }},
    {"new_keys_per_second",
     [](const Field& f, LimitsConfig& out) {
       f.read_count(out.new_keys_per_second, 0, kKeysLimitMax);
     }},
    {"live_keys",
     [](const Field& f, LimitsConfig& out) { f.read_count(out.live_keys, 0, kKeysLimitMax); }},
});

constexpr std::array kSpoolKeys = std::to_array<Key<SpoolConfig>>({
    {"path", [](const Field& f, SpoolConfig& out) { f.read(out.path, 1, kFilePathLengthMax); }},
    {"bytes_max",
     [](const Field& f, SpoolConfig& out) {
       f.read_size(out.bytes_max, kSpoolBytesMin, kDiskBytesMax);
     }},
});

constexpr std::array kLogKeys = std::to_array<Key<LogConfig>>({
    {"format",
     [](const Field& f, LogConfig& out) {
       read_choice(f, {{"text", LogFormat::text}, {"json", LogFormat::json}}, out.format);
     }},
    {"level",
     [](const Field& f, LogConfig& out) {
       read_choice(f,
                   {{"debug", LogLevel::debug},
                    {"info", LogLevel::info},
                    {"warn", LogLevel::warn},
                    {"error", LogLevel::error}},
                   out.level);
     }},
    {"keys",
     [](const Field& f, LogConfig& out) {
       read_choice(f, {{"digest", LogKeys::digest}, {"full", LogKeys::full}}, out.keys);
     }},
    {"decisions",
     [](const Field& f, LogConfig& out) {
       read_choice(f,
                   {{"all", LogDecisions::all},
                    {"changes", LogDecisions::changes},
                    {"none", LogDecisions::none}},
                   out.decisions);
     }},
    {"file", [](const Field& f, LogConfig& out) { f.read(out.file, 1, kFilePathLengthMax); }},
});

constexpr std::array kEncryptionKeys = std::to_array<Key<stores::StoreConfig>>({
    {"keys_file", [](const Field& f,
                     stores::StoreConfig& out) { f.read(out.keys_file, 1, kFilePathLengthMax); }},
});

void read_cleanup_window(const Field& field, stores::StoreConfig& out) {
  if (field.text() == "always") {
    out.cleanup.reset();
  } else if (const auto window = field.parsed(stores::parse_cleanup_window)) {
    out.cleanup = window;
  }
}

constexpr std::array kCleanupKeys = std::to_array<Key<stores::StoreConfig>>({
    {"window", read_cleanup_window},
});

constexpr std::array kFileKeys = std::to_array<Key<FileDraft>>({
    {"listen", read_listen},
    {"tls", [](const Field& f, FileDraft& d) { read_tls(f, d.config.tls); }},
    {"workers", read_workers},
    {"namespace", read_namespace},
    {"admin", [](const Field& f, FileDraft& d) { read_mapping(f, kAdminKeys, d); }},
    {"service", [](const Field& f, FileDraft& d) { read_service(f, d.config.service.emplace()); }},
    {"tracing", [](const Field& f, FileDraft& d) { read_tracing(f, d.config.tracing.emplace()); }},
    {"notify", [](const Field& f, FileDraft& d) { read_notify(f, d.config.notify.emplace()); }},
    {"store", [](const Field& f, FileDraft& d) { read_store(f, d.config.store); }},
    {"cleanup",
     [](const Field& f, FileDraft& d) { read_mapping(f, kCleanupKeys, d.config.store); }},
    {"spool", [](const Field& f, FileDraft& d) { read_mapping(f, kSpoolKeys, d.config.spool); }},
    {"encryption",
     [](const Field& f, FileDraft& d) {
       read_mapping(f, kEncryptionKeys, d.config.store);
       if (f.node().kind == NodeKind::mapping && f.node().find("keys_file") == nullptr) {
         f.at("keys_file").error("required; the path of a key file");
       }
     }},
    {"hash_key_file",
     [](const Field& f, FileDraft& d) { f.read(d.config.hash_key_file, 1, kFilePathLengthMax); }},
    {"store_keys",
     [](const Field& f, FileDraft& d) {
       read_choice(f, {{"plain", StoreKeys::plain}, {"digest", StoreKeys::digest}},
                   d.config.store_keys);
     }},
    {"record_format",
     [](const Field& f, FileDraft& d) {
       read_choice(f, {{"2", kRecordFormat - 1}, {"3", kRecordFormat}}, d.config.record_format);
     }},
    {"trusted_proxies", read_trusted_proxies},
    {"tenant", [](const Field& f, FileDraft& d) { read_tenant(f, d.config.tenant); }},
    {"limits", [](const Field& f, FileDraft& d) { read_mapping(f, kLimitsKeys, d.config.limits); }},
    {"drain_timeout",
     [](const Field& f, FileDraft& d) { f.read(d.config.drain_timeout, seconds(0)); }},
    {"log", [](const Field& f, FileDraft& d) { read_mapping(f, kLogKeys, d.config.log); }},
    {"relay", [](const Field& f, FileDraft& d) { read_relay(f, d.config.relay.emplace()); }},
    {"defaults", [](const Field& f, FileDraft& d) { d.defaults = f; }},
    {"routes", [](const Field& f, FileDraft& d) { d.routes = f; }},
    {"consume", [](const Field& f, FileDraft& d) { d.config.consume = read_consume(f); }},
});

bool is_keyed(const RouteConfig& route) {
  return !route.methods.empty();
}

// A route that an earlier one hides completely does nothing. Repeating a path cannot be intended; a
// narrower path behind a wider one can be, while somebody moves routes about.
void check_paths(const std::vector<Field>& fields, const std::vector<RouteConfig>& routes) {
  std::vector<PathPattern> patterns;
  for (std::size_t i = 0; i < routes.size(); ++i) {
    patterns.push_back(parse_path(routes[i].path));
    for (std::size_t earlier = 0; earlier < i; ++earlier) {
      const bool is_reported = routes[earlier].path.empty();
      if (is_reported || !covers(patterns[earlier], patterns[i])) continue;
      const std::string message =
          fmt::format("never matches: the first match wins, and {} on line {} comes first",
                      quote(routes[earlier].path), routes[earlier].line);
      if (patterns[earlier] == patterns[i]) {
        fields[i].at("path").error(message);
      } else {
        fields[i].at("path").warn(message);
      }
      break;
    }
  }
}

void check_names(const std::vector<Field>& fields, const std::vector<RouteConfig>& routes) {
  std::map<std::string, const RouteConfig*> keyed_by_name;
  for (std::size_t i = 0; i < routes.size(); ++i) {
    const RouteConfig& route = routes[i];
    if (!is_keyed(route)) continue;
    const auto [first, is_new] = keyed_by_name.try_emplace(route.name, &route);
    // One path twice, and so one default name twice, is a single mistake.
    if (!is_new && first->second->path != route.path) {
      fields[i].at("name").error(
          fmt::format("{} is also the operation on line {}; their keys would be mixed",
                      quote(route.name), first->second->line));
    }
  }
}

// An old name must belong to one operation, or two of them would answer for each other.
void check_aliases(const std::vector<Field>& fields, const std::vector<RouteConfig>& routes) {
  std::map<std::string, const RouteConfig*> owners;
  for (const RouteConfig& route : routes) {
    if (is_keyed(route)) owners.try_emplace(route.name, &route);
  }
  for (std::size_t i = 0; i < routes.size(); ++i) {
    const RouteConfig& route = routes[i];
    if (route.aliases.empty()) continue;
    const Field field = fields[i].at("aliases");
    if (route.scope == ScopeKind::tenant) {
      field.warn("has no effect with scope: tenant, where the name is not part of the scope");
    }
    for (const std::string& alias : route.aliases) {
      const auto [owner, is_new] = owners.try_emplace(alias, &route);
      if (is_new) continue;
      field.error(
          owner->second == &route
              ? fmt::format("{} is the route's current name; list only former names", quote(alias))
              : fmt::format("{} already names the operation on line {}; their keys would be mixed",
                            quote(alias), owner->second->line));
    }
  }
}

void read_routes(FileDraft& draft) {
  if (draft.defaults) check_defaults(*draft.defaults);
  const std::vector<Field> fields = draft.routes->items(kRoutesMax);
  if (fields.empty() && draft.routes->node().kind == NodeKind::sequence &&
      draft.routes->node().children.empty()) {
    draft.routes->error("must have at least one route");
  }
  for (const Field& field : fields) {
    draft.config.routes.push_back(read_route(field, draft.defaults));
  }
  check_paths(fields, draft.config.routes);
  check_names(fields, draft.config.routes);
  check_aliases(fields, draft.config.routes);
}

void check_completes(const Field& root, const Config& config) {
  const auto is_executors = [](const RouteConfig& r) { return r.completes == Completes::executor; };
  if (std::ranges::none_of(config.routes, is_executors)) return;
  const std::vector<Field> routes = root.at("routes").items(kRoutesMax);
  for (std::size_t i = 0; i < routes.size(); ++i) {
    if (!is_executors(config.routes[i])) continue;
    const Field completes = routes[i].at("completes");
    if (config.store.kind != stores::StoreKind::postgres &&
        config.store.kind != stores::StoreKind::tiered) {
      completes.error(
          "executor needs store: {kind: postgres}, where the service completes the record in its "
          "own transaction");
    } else if (!config.store.keys_file.empty()) {
      completes.warn(
          "executor: encryption.keys_file does not encrypt what the service stores itself");
    }
  }
}

// Live keys are counted by the records that this process sees come and go; on a shared store other
// processes remove records that it has written.
void check_live_keys(const Field& root, const Config& config) {
  const auto counts = [](const RouteConfig& r) { return r.limits.live_keys > 0; };
  const bool is_shared = config.store.kind != stores::StoreKind::embedded &&
                         config.store.kind != stores::StoreKind::memory;
  if (!is_shared) return;
  constexpr auto kWhy = "needs store: {kind: embedded}, where one process sees all records";
  if (config.limits.live_keys > 0) root.at("limits").at("live_keys").error(kWhy);
  if (std::ranges::none_of(config.routes, counts)) return;
  const std::vector<Field> routes = root.at("routes").items(kRoutesMax);
  for (std::size_t i = 0; i < routes.size(); ++i) {
    if (!counts(config.routes[i])) continue;
    routes[i].at("limits").at("live_keys").error(kWhy);
  }
}

// Refuses a described member that would show the key where no record may show one.
void check_described_keys(const Field& root, const Config& config) {
  if (config.store_keys != StoreKeys::digest) return;
  const auto shows_key = [](const RouteConfig& route) {
    return std::ranges::any_of(route.describe, [&](const std::string& pointer) {
      return (route.key.pointer + '/').starts_with(pointer + '/');
    });
  };
  if (std::ranges::none_of(config.routes, shows_key)) return;
  const std::vector<Field> routes = root.at("routes").items(kRoutesMax);
  for (std::size_t i = 0; i < routes.size(); ++i) {
    if (!shows_key(config.routes[i])) continue;
    routes[i]
        .at("describe")
        .error(fmt::format(
            "shows {}, from which the route takes its key; with store_keys: digest records "
            "must not show it",
            quote(config.routes[i].key.pointer)));
  }
}

// The index of records that are due, in these stores, does not tell expired ones from work, and
// would be walked over again and again while expired ones stay in it.
void check_cleanup(const Field& root, const Config& config) {
  if (!config.store.cleanup || config.store.kind == stores::StoreKind::embedded ||
      config.store.kind == stores::StoreKind::memory) {
    return;
  }
  root.at("cleanup").at("window").error(
      "needs store: {kind: embedded}; the other stores remove expired records all day");
}

void check_file(const Field& root, const FileDraft& draft, Report& report) {
  const Config& config = draft.config;
  const auto missing = [&](std::string key, std::string message) {
    report.errors.push_back({report.file, 0, std::move(key), std::move(message)});
  };
  const bool only_consumes = root.node().find("consume") != nullptr && !draft.routes;
  if (!draft.routes && !only_consumes && !config.relay && !config.service) {
    missing("routes", "required; a list of routes");
  }
  if (config.relay && config.store.kind != stores::StoreKind::postgres) {
    root.at("relay").error("the outbox is in PostgreSQL; set store: {kind: postgres, url: …}");
  }
  const auto asks_tenant = [](const RouteConfig& route) {
    return is_keyed(route) && !route.webhook;
  };
  if (std::ranges::any_of(config.routes, asks_tenant) && root.node().find("tenant") == nullptr) {
    missing("tenant",
            "required, because routes accept keys; say who owns a key: {from: authorization} the "
            "holder of a static API key, {from: jwt, …} the caller named by a signed token, {from: "
            "header, name: X-Tenant} the caller named by a trusted proxy, or {from: none} nobody, "
            "so that all callers share one set of keys and can get each other's answers");
  }
  check_tenant(root, config);
  check_completes(root, config);
  if (root.node().find("consume") != nullptr) check_consume(root.at("consume"), config);
  check_described_keys(root, config);
  check_live_keys(root, config);
  check_cleanup(root, config);
  if (config.service) check_service(root.at("service"), config);
  const HostPort& admin = config.admin.listen;
  if (admin.port != 0 && std::ranges::count(config.listen, admin) > 0) {
    root.at("admin").at("listen").error(
        fmt::format("port {} of {} is already used by listen", admin.port, admin.host));
  }
  if (!is_loopback(admin.host) && config.admin.tokens_file.empty() &&
      config.store.kind != stores::StoreKind::embedded) {
    root.at("admin")
        .at("tokens_file")
        .error(
            "required unless the address is loopback: every request there needs a token, and Semel "
            "generates one only with kind: embedded");
  }
}

void sort_by_line(std::vector<ConfigError>& errors) {
  std::ranges::sort(errors, {},
                    [](const ConfigError& e) { return std::tie(e.line, e.key, e.message); });
}

}  // namespace
}  // namespace reading

ConfigOutcome parse_config(std::string_view yaml, const std::string& file,
                           const Environment& environment, const KnownKey& known) {
  using namespace reading;
  Report report{file, {}, {}, known};
  const auto tree = load_tree(yaml, environment, report);
  if (!tree) return {std::nullopt, {tree.error()}, {}};

  const Field root(*tree, "", report);
  FileDraft draft;
  draft.config.file = file;
  if (tree->kind == NodeKind::null) {
    root.error("the file is empty; at least tenant and routes are needed");
  } else if (is_mapping(root)) {
    read_mapping(root, kFileKeys, draft);
    if (draft.routes) read_routes(draft);
    check_file(root, draft, report);
  }
  sort_by_line(report.errors);
  sort_by_line(report.warnings);
  ConfigOutcome outcome{std::nullopt, std::move(report.errors), std::move(report.warnings)};
  if (outcome.errors.empty()) outcome.config = std::move(draft.config);
  return outcome;
}

}  // namespace semel::config
