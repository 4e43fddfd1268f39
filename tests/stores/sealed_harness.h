#pragma once

#include <memory>

#include "stores/embedded_harness.h"
#include "stores/memory_store.h"
#include "stores/postgres_harness.h"
#include "stores/redis_harness.h"
#include "stores/sealed_store.h"

namespace semel::stores {

inline constexpr std::string_view kFirstKey = "k1:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n";
inline constexpr std::string_view kSecondKey = "k2:AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=\n";

// A sealed store over `inner`. reload() takes the keys that `text` has by then.
inline std::unique_ptr<SealedStore> sealed_over(std::unique_ptr<Store> inner,
                                                std::shared_ptr<const std::string> text) {
  auth::SealingKeys keys = auth::SealingKeys::parse(*text).value();
  return std::make_unique<SealedStore>(std::move(inner), std::move(keys),
                                       [text] { return auth::SealingKeys::parse(*text); });
}
inline std::unique_ptr<SealedStore> sealed_over(std::unique_ptr<Store> inner) {
  return sealed_over(std::move(inner), std::make_shared<const std::string>(kFirstKey));
}

// A sealed store over another one.
class SealedHarness final : public StoreHarness {
 public:
  enum class Over { memory, embedded, postgres, redis };
  explicit SealedHarness(Over over) : over_(over) {
    if (over == Over::postgres) empty_postgres();
    if (over == Over::redis) empty_redis(redis_config(RedisSetup::single));
    reopen();
  }

  Store& store() override { return *store_; }
  void reopen() override {
    store_.reset();
    std::unique_ptr<Store> inner = std::make_unique<MemoryStore>();
    if (over_ == Over::embedded) inner = open_or_throw({.path = directory_.path() / "store"});
    if (over_ == Over::postgres) inner = open_postgres_or_throw({.url = postgres_url()});
    if (over_ == Over::redis) inner = open_redis_or_throw(redis_config(RedisSetup::single));
    store_ = sealed_over(std::move(inner));
  }

 private:
  ScratchDirectory directory_;
  const Over over_;
  std::unique_ptr<SealedStore> store_;
};

}  // namespace semel::stores
