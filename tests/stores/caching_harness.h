#pragma once

#include <memory>

#include "stores/cache/caching_store.h"
#include "stores/cache/local_cache.h"
#include "stores/postgres_harness.h"
#include "stores/redis/cache.h"
#include "stores/redis_harness.h"

namespace semel::stores {

// A store behind a cache: PostgreSQL behind Redis (tiered), or Redis behind this process.
class CachingHarness final : public StoreHarness {
 public:
  enum class Kind { tiered, local };
  explicit CachingHarness(Kind kind) : kind_(kind) {
    empty_redis(config_);
    if (kind == Kind::tiered) empty_postgres();
    reopen();
  }

  Store& store() override { return *store_; }
  void reopen() override {
    store_.reset();
    if (kind_ == Kind::tiered) {
      auto cache = RedisCache::open(config_, std::chrono::hours(1), [](const std::string&) {});
      store_ = std::make_unique<CachingStore>(open_postgres_or_throw({.url = postgres_url()}),
                                              std::move(cache).value());
    } else {
      auto cache = std::make_unique<LocalCache>(1 << 20, std::chrono::hours(1));
      store_ = std::make_unique<CachingStore>(open_redis_or_throw(config_), std::move(cache));
    }
  }

 private:
  const Kind kind_;
  const RedisConfig config_ = redis_config(RedisSetup::single);
  std::unique_ptr<CachingStore> store_;
};

}  // namespace semel::stores
