#include "config/printing/store.h"

#include "config/printing/secrets.h"

namespace semel::config::printing {
namespace {

using stores::StoreKind;

std::string_view name_of(StoreKind kind) {
  switch (kind) {
    case StoreKind::embedded:
      return "embedded";
    case StoreKind::memory:
      return "memory";
    case StoreKind::postgres:
      return "postgres";
    case StoreKind::redis:
      return "redis";
    case StoreKind::tiered:
      return "tiered";
  }
  return "";
}

std::vector<std::string> texts_of(const std::vector<stores::RedisAddress>& addresses) {
  std::vector<std::string> out;
  for (const stores::RedisAddress& address : addresses) out.push_back(address.text());
  return out;
}

void print_postgres(Yaml& out, const stores::StoreConfig& store) {
  out.url("url", store.url);
  out.text("schema", store.schema);
  out.count("connections", store.connections);
}

void print_redis(Yaml& out, const stores::RedisConfig& redis) {
  out.url("url", redis.url);
  out.text_if_any("ca", redis.ca);
  if (!redis.sentinels.empty()) {
    out.mapping("sentinel", [&] {
      out.text("master", redis.sentinel_master);
      out.texts("hosts", texts_of(redis.sentinels));
      if (!redis.sentinel_password.empty()) out.text("password", kHidden);
    });
  }
  if (!redis.cluster.empty()) out.texts("cluster", texts_of(redis.cluster));
}

void print_kind(Yaml& out, const stores::StoreConfig& store) {
  switch (store.kind) {
    case StoreKind::embedded:
      out.text("path", store.path);
      out.text("durability", store.durability == stores::Durability::power ? "power" : "crash");
      break;
    case StoreKind::memory:
      break;
    case StoreKind::postgres:
      print_postgres(out, store);
      break;
    case StoreKind::redis:
      print_redis(out, store.redis);
      out.count("replicas", store.redis.replicas);
      break;
    case StoreKind::tiered:
      out.mapping("durable", [&] {
        out.text("kind", name_of(StoreKind::postgres));
        print_postgres(out, store);
      });
      out.mapping("cache", [&] {
        out.text("kind", name_of(StoreKind::redis));
        print_redis(out, store.redis);
      });
      break;
  }
}

}  // namespace

void print_store(Yaml& out, const stores::StoreConfig& store) {
  out.mapping("store", [&] {
    out.text("kind", name_of(store.kind));
    print_kind(out, store);
    const bool is_cached = store.kind == StoreKind::tiered ||
                           (store.kind != StoreKind::embedded && store.local_cache_bytes > 0);
    if (is_cached) out.duration("cache_for", store.cache_for);
    if (store.local_cache_bytes) out.size("local_cache", *store.local_cache_bytes);
    out.size("free_bytes_min", store.free_bytes_min);
  });
  if (!store.keys_file.empty()) {
    out.mapping("encryption", [&] { out.text("keys_file", store.keys_file); });
  }
}

}  // namespace semel::config::printing
