#include "stores/open.h"

#include "stores/cache/caching_store.h"
#include "stores/cache/local_cache.h"
#include "stores/memory_store.h"
#include "stores/postgres/store.h"
#include "stores/redis/cache.h"
#include "stores/redis/store.h"
#include "stores/sealed_store.h"

namespace semel::stores {
namespace {

using UpkeepFailed = std::function<void(std::string_view call, const std::string& why)>;

// Returns how long one cache keeps records. With two caches, one behind the other, the first may
// get a record that is as old as the second keeps it, so they share the time.
Duration cache_length(const StoreConfig& config) {
  const bool has_two = config.kind == StoreKind::tiered && config.local_cache_bytes.value_or(0) > 0;
  return has_two ? config.cache_for / 2 : config.cache_for;
}

std::expected<std::unique_ptr<Store>, std::string> open_kind(
    const StoreConfig& config, std::function<void(const GroupCommit&)> committed,
    std::function<void(const std::string&)> warn, UpkeepFailed failed) {
  switch (config.kind) {
    case StoreKind::memory:
      return std::make_unique<MemoryStore>(config.cleanup);
    case StoreKind::embedded: {
      EmbeddedOptions options;
      options.path = config.path;
      options.sync = config.durability == Durability::power;
      options.committed = std::move(committed);
      options.free_bytes_min = config.free_bytes_min;
      options.warn = std::move(warn);
      options.cleanup = config.cleanup;
      if (config.local_cache_bytes) options.answers_bytes_max = *config.local_cache_bytes;
      // A sealed record has to be opened again for every reader.
      if (!config.keys_file.empty()) options.answers_bytes_max = 0;
      return open_embedded_store(options);
    }
    case StoreKind::postgres:
      return open_postgres_store({.url = config.url,
                                  .schema = config.schema,
                                  .connections = config.connections,
                                  .committed = std::move(committed),
                                  .warn = std::move(warn),
                                  .failed = std::move(failed)});
    case StoreKind::redis:
      return open_redis_store(
          config.redis, std::move(warn),
          [told = std::move(committed)](std::chrono::nanoseconds took) {
            if (told) told({.swaps = 1, .longest_wait = took});
          },
          std::move(failed));
    case StoreKind::tiered: {
      StoreConfig durable = config;
      durable.kind = StoreKind::postgres;
      auto store = open_kind(durable, std::move(committed), warn, std::move(failed));
      if (!store) return store;
      auto cache = RedisCache::open(config.redis, cache_length(config), std::move(warn));
      if (!cache) return std::unexpected(std::move(cache.error()));
      return std::make_unique<CachingStore>(*std::move(store), *std::move(cache));
    }
  }
  return std::unexpected("unknown kind of store");
}

// Opens the store and its cache without the sealing on top: in a sealed store, cached records are
// sealed, too.
std::expected<std::unique_ptr<Store>, std::string> open_plain(
    const StoreConfig& config, std::function<void(const GroupCommit&)> committed,
    std::function<void(const std::string&)> warn, UpkeepFailed failed) {
  auto store = open_kind(config, std::move(committed), std::move(warn), std::move(failed));
  const std::size_t bytes_max = config.local_cache_bytes.value_or(0);
  if (!store || bytes_max == 0 || (*store)->features().exclusive) return store;
  auto cache = std::make_unique<LocalCache>(bytes_max, cache_length(config));
  return std::make_unique<CachingStore>(*std::move(store), std::move(cache));
}

}  // namespace

std::expected<std::unique_ptr<Store>, std::string> open_store(
    const StoreConfig& config, std::function<void(const GroupCommit&)> committed,
    std::function<void(const std::string&)> warn,
    std::function<void(std::string_view call, const std::string& why)> failed) {
  if (config.keys_file.empty()) {
    return open_plain(config, std::move(committed), std::move(warn), std::move(failed));
  }
  auto read_keys = [file = config.keys_file] { return read_sealing_keys(file); };
  auto keys = read_keys();
  if (!keys) return std::unexpected(std::move(keys).error());
  auto plain = open_plain(config, std::move(committed), std::move(warn), std::move(failed));
  if (!plain) return plain;
  return std::make_unique<SealedStore>(*std::move(plain), *std::move(keys), std::move(read_keys));
}

}  // namespace semel::stores
