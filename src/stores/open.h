#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "semel/store.h"
#include "stores/embedded/store.h"
#include "stores/redis/config.h"

namespace semel {

enum class StoreKind { embedded, memory, postgres, redis, tiered };
// power: what was acknowledged survives a power cut. crash: it survives the process being killed.
enum class Durability { power, crash };

struct StoreConfig {
  StoreKind kind = StoreKind::embedded;
  std::string path = "./semel-data";
  Durability durability = Durability::power;
  // embedded, and the spool of every kind: below it nothing new is taken on; 0: no such mark.
  std::size_t free_bytes_min = std::size_t{512} << 20;
  std::string url;               // postgres, tiered: as libpq takes it
  std::string schema = "semel";  // postgres
  std::size_t connections = 4;   // postgres: for records; one more listens for notifications
  RedisConfig redis;             // redis; tiered: the cache
  // tiered, and with local_cache: for how long a completed answer may be out of date.
  Duration cache_for = std::chrono::seconds(5);
  // Completed answers that are kept in this process; 0: none. nullopt: none, but for the embedded
  // store, whose own figure it then is.
  std::optional<std::size_t> local_cache_bytes;
  std::string keys_file;  // empty: nothing is encrypted
  bool operator==(const StoreConfig&) const = default;
};

// `committed` is told of every group commit, `warn`, in sentences for the operator, of what makes
// the store less safe than it could be, and `failed` of calls of the store's own upkeep that
// failed, with the reason; all on the store's own thread. The error is such a sentence.
std::expected<std::unique_ptr<Store>, std::string> open_store(
    const StoreConfig& config, std::function<void(const GroupCommit&)> committed,
    std::function<void(const std::string&)> warn,
    std::function<void(std::string_view call, const std::string& why)> failed = {});

}  // namespace semel
