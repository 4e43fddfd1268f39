#include "config/reading/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "postgres/schema.h"

namespace semel::config::reading {
namespace {

constexpr std::size_t kUrlLengthMax = 4096;
constexpr std::size_t kStoreConnectionsMax = 64;
constexpr std::size_t kAddressesMax = 64;
constexpr std::size_t kReplicasMax = 16;
constexpr Duration kCacheForMin = std::chrono::milliseconds(100);
constexpr Duration kCacheForMax = std::chrono::hours(1);
constexpr std::size_t kLocalCacheBytesMax = std::size_t{64} << 30;
constexpr std::uint16_t kRedisPort = 6379;
constexpr std::uint16_t kSentinelPort = 26379;

void read_schema(const Field& field, stores::StoreConfig& out) {
  const std::optional<std::string> value = field.text();
  if (!value) return;
  if (!postgres::is_schema_name(*value)) {
    field.bad_value(
        "must be at most 63 lower-case letters, digits and '_', and not begin with a digit or "
        "'pg_'");
    return;
  }
  out.schema = *value;
}

// Reads a list of host:port.
void read_addresses(const Field& field, std::uint16_t default_port,
                    std::vector<stores::RedisAddress>& out) {
  for (const Field& item : field.items(kAddressesMax)) {
    const auto parse = [&](std::string_view text) {
      return stores::parse_redis_address(text, default_port);
    };
    if (auto address = item.parsed(parse)) out.push_back(*std::move(address));
  }
  if (field.node().kind == NodeKind::sequence && field.node().children.empty()) {
    field.error("must name at least one host:port");
  }
}

constexpr std::array kSentinelKeys = std::to_array<Key<stores::RedisConfig>>({
    {"master",
     [](const Field& f, stores::RedisConfig& out) { f.read(out.sentinel_master, 1, 255); }},
    {"hosts", [](const Field& f,
                 stores::RedisConfig& out) { read_addresses(f, kSentinelPort, out.sentinels); }},
    {"password",
     [](const Field& f, stores::RedisConfig& out) { f.read(out.sentinel_password, 1, 1024); }},
});

void read_sentinel(const Field& field, stores::StoreConfig& out) {
  read_mapping(field, kSentinelKeys, out.redis);
  if (field.node().kind != NodeKind::mapping) return;
  if (field.node().find("master") == nullptr) {
    field.at("master").error("required: the name by which the Sentinels know the master");
  }
  if (field.node().find("hosts") == nullptr) {
    field.at("hosts").error("required, as in [sentinel-1.example:26379, sentinel-2.example:26379]");
  }
}

// The two parts of a tiered store.
void read_durable(const Field& field, stores::StoreConfig& out);
void read_cache(const Field& field, stores::StoreConfig& out);

constexpr std::array kStoreKeys = std::to_array<Key<stores::StoreConfig>>({
    {"kind",
     [](const Field& f, stores::StoreConfig& out) {
       read_choice(f,
                   {{"embedded", stores::StoreKind::embedded},
                    {"memory", stores::StoreKind::memory},
                    {"postgres", stores::StoreKind::postgres},
                    {"redis", stores::StoreKind::redis},
                    {"tiered", stores::StoreKind::tiered},
                    {"dynamodb", kLaterChoice}},
                   out.kind);
     }},
    {"path", [](const Field& f, stores::StoreConfig& out) { f.read(out.path, 1, kFilePathLengthMax); }},
    {"durability",
     [](const Field& f, stores::StoreConfig& out) {
       read_choice(f, {{"power", stores::Durability::power}, {"crash", stores::Durability::crash}}, out.durability);
     }},
    {"free_bytes_min",
     [](const Field& f, stores::StoreConfig& out) { f.read_size(out.free_bytes_min, 0, kDiskBytesMax); }},
    {"url", [](const Field& f, stores::StoreConfig& out) { f.read(out.url, 1, kUrlLengthMax); }},
    {"schema", read_schema},
    {"connections",
     [](const Field& f, stores::StoreConfig& out) {
       f.read_count(out.connections, 1, kStoreConnectionsMax);
     }},
    {"replicas",
     [](const Field& f, stores::StoreConfig& out) { f.read_count(out.redis.replicas, 0, kReplicasMax); }},
    {"sentinel", read_sentinel},
    {"cluster",
     [](const Field& f, stores::StoreConfig& out) { read_addresses(f, kRedisPort, out.redis.cluster); }},
    {"ca", [](const Field& f, stores::StoreConfig& out) { f.read(out.redis.ca, 1, kFilePathLengthMax); }},
    {"durable", read_durable},
    {"cache", read_cache},
    {"cache_for",
     [](const Field& f, stores::StoreConfig& out) { f.read(out.cache_for, kCacheForMin, kCacheForMax); }},
    {"local_cache",
     [](const Field& f, stores::StoreConfig& out) {
       std::size_t bytes = 0;
       f.read_size(bytes, 0, kLocalCacheBytesMax);
       out.local_cache_bytes = bytes;
     }},
});

// A key, and the kinds of store that use it.
struct KeyOf {
  std::string_view name;
  std::array<stores::StoreKind, 4> kinds;
  std::string_view kind_names;
};
constexpr KeyOf of_one(std::string_view name, stores::StoreKind kind, std::string_view kind_name) {
  return {name, {kind, kind, kind, kind}, kind_name};
}
constexpr KeyOf kKeysOfKinds[] = {
    of_one("path", stores::StoreKind::embedded, "embedded"),
    of_one("durability", stores::StoreKind::embedded, "embedded"),
    {"url",
     {stores::StoreKind::postgres, stores::StoreKind::postgres, stores::StoreKind::redis,
      stores::StoreKind::redis},
     "postgres or redis"},
    of_one("schema", stores::StoreKind::postgres, "postgres"),
    of_one("connections", stores::StoreKind::postgres, "postgres"),
    of_one("replicas", stores::StoreKind::redis, "redis"),
    of_one("sentinel", stores::StoreKind::redis, "redis"),
    of_one("cluster", stores::StoreKind::redis, "redis"),
    of_one("ca", stores::StoreKind::redis, "redis"),
    of_one("durable", stores::StoreKind::tiered, "tiered"),
    of_one("cache", stores::StoreKind::tiered, "tiered"),
    {"local_cache",
     {stores::StoreKind::embedded, stores::StoreKind::postgres, stores::StoreKind::redis,
      stores::StoreKind::tiered},
     "embedded, postgres, redis or tiered"},
};

void check_postgres(const Field& field, const stores::StoreConfig& store) {
  const Field url = field.at("url");
  if (field.node().find("url") == nullptr) {
    url.error("required with kind: postgres, as in postgresql://semel@db.example/semel");
  } else if (!store.url.empty() && !store.url.starts_with("postgresql://") &&
             !store.url.starts_with("postgres://")) {
    url.error("must begin with postgresql://, as in postgresql://semel@db.example/semel");
  }
}

void check_redis(const Field& field, stores::StoreConfig& store) {
  const Field url = field.at("url");
  const bool is_found_otherwise =
      field.node().find("sentinel") != nullptr || field.node().find("cluster") != nullptr;
  if (field.node().find("url") == nullptr) {
    if (!is_found_otherwise) {
      url.error("required with kind: redis, as in redis://cache.example:6379/0");
    }
  } else if (!store.url.empty()) {
    const auto parsed = stores::parse_redis_url(store.url);
    if (!parsed) {
      url.error(parsed.error());
      return;
    }
    store.redis.url = store.url;
    if (!store.redis.cluster.empty() && parsed->database != 0) {
      url.error("a Cluster has only database 0");
    }
    if (!store.redis.ca.empty() && !parsed->tls) {
      field.at("ca").warn("has an effect only with a rediss:// URL");
    }
  }
  if (!store.redis.sentinels.empty() && !store.redis.cluster.empty()) {
    field.at("sentinel")
        .error("Sentinels watch a master, not a Cluster; remove sentinel or cluster");
  }
}

void check_tiered(const Field& field) {
  for (const auto& [name, example] :
       {std::pair("durable", "{kind: postgres, url: 'postgresql://semel@db.example/semel'}"),
        std::pair("cache", "{kind: redis, url: 'redis://cache.example'}")}) {
    if (field.node().find(name) == nullptr) {
      field.at(name).error(fmt::format("required with kind: tiered, as in {}", example));
    }
  }
}

// Reads a store inside a tiered one. It must name its kind, and the kind must be the one that
// belongs there.
std::optional<stores::StoreConfig> read_part(const Field& field, stores::StoreKind kind,
                                             std::string_view name) {
  stores::StoreConfig part;
  read_store(field, part);
  if (field.node().kind != NodeKind::mapping) return std::nullopt;
  if (part.kind != kind) {
    field.at("kind").error(fmt::format("must be {} here", name));
    return std::nullopt;
  }
  return part;
}

void read_durable(const Field& field, stores::StoreConfig& out) {
  const auto part = read_part(field, stores::StoreKind::postgres, "postgres");
  if (!part) return;
  out.url = part->url;
  out.schema = part->schema;
  out.connections = part->connections;
}

void read_cache(const Field& field, stores::StoreConfig& out) {
  const auto part = read_part(field, stores::StoreKind::redis, "redis");
  if (!part) return;
  out.redis = part->redis;
  if (out.redis.replicas > 0) {
    field.at("replicas").warn("has no effect in a cache, which never decides about a key");
  }
}

}  // namespace

void read_store(const Field& field, stores::StoreConfig& out) {
  read_mapping(field, kStoreKeys, out);
  if (field.node().kind != NodeKind::mapping) return;
  for (const KeyOf& key : kKeysOfKinds) {
    if (std::ranges::find(key.kinds, out.kind) == key.kinds.end() &&
        field.node().find(key.name) != nullptr) {
      field.at(key.name).warn(fmt::format("has an effect only with kind: {}", key.kind_names));
    }
  }
  if (field.node().find("cache_for") != nullptr && out.kind != stores::StoreKind::tiered &&
      (out.kind == stores::StoreKind::embedded || out.local_cache_bytes.value_or(0) == 0)) {
    field.at("cache_for")
        .warn(
            "has an effect only with kind: tiered, or with local_cache in front of postgres or "
            "redis");
  }
  if (out.kind == stores::StoreKind::postgres) check_postgres(field, out);
  if (out.kind == stores::StoreKind::redis) check_redis(field, out);
  if (out.kind == stores::StoreKind::tiered) check_tiered(field);
}

}  // namespace semel::config::reading
