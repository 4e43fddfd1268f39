#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "semel/driver/store.h"
#include "stores/cleanup_window.h"
#include "stores/embedded/store.h"
#include "stores/redis/config.h"

namespace semel::stores {

enum class StoreKind { embedded, memory, postgres, redis, tiered };
// power: acknowledged writes survive a power cut. crash: they survive the process being killed.
enum class Durability { power, crash };

struct StoreConfig {
  StoreKind kind = StoreKind::embedded;
  std::string path = "./semel-data";
  Durability durability = Durability::power;
  // embedded, and the spool of every kind: with less free space nothing new is accepted; 0: no
  // limit. 512 MiB leaves room for the answers of running work and for RocksDB's merges.
  std::size_t free_bytes_min = std::size_t{512} << 20;
  std::string url;               // postgres, tiered: as libpq takes it
  std::string schema = "semel";  // postgres
  std::size_t connections = 4;   // postgres: for records; one more listens for notifications
  RedisConfig redis;             // redis; tiered: the cache
  // tiered, and with local_cache: for how long a completed answer may be out of date.
  Duration cache_for = std::chrono::seconds(5);
  // Bytes of completed answers that are kept in this process; 0: none. nullopt: none, except in the
  // embedded store, which then uses its own default.
  std::optional<std::size_t> local_cache_bytes;
  std::optional<CleanupWindow> cleanup;  // embedded, memory; nullopt: always
  std::string keys_file;                 // empty: nothing is encrypted
  bool operator==(const StoreConfig&) const = default;
};

// Opens the store. Calls `committed` for every group commit; `warn`, with a sentence for the
// operator, about anything that makes the store less safe than it could be; and `failed`, with the
// reason, for each call of the store's own upkeep that failed, and for each sweep that found
// records it cannot read. All are called on the store's own thread. The error is a sentence for the
// operator.
std::expected<std::unique_ptr<Store>, std::string> open_store(
    const StoreConfig& config, std::function<void(const GroupCommit&)> committed,
    std::function<void(const std::string&)> warn,
    std::function<void(std::string_view call, const std::string& why)> failed = {});

}  // namespace semel::stores
