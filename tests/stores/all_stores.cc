// The stores that the suite is run against: one line each.
#include "stores/caching_harness.h"
#include "stores/embedded_harness.h"
#include "stores/memory_store.h"
#include "stores/postgres_harness.h"
#include "stores/redis_harness.h"
#include "stores/sealed_harness.h"
#include "stores/suite.h"

namespace semel::stores {
namespace {

class MemoryHarness final : public StoreHarness {
 public:
  Store& store() override { return *store_; }
  void reopen() override { store_.emplace(); }

 private:
  std::optional<MemoryStore> store_{std::in_place};
};

template <typename Harness, typename... Args>
StoreUnderTest under_test(std::string name, Args... args) {
  return {std::move(name), [args...] { return std::make_unique<Harness>(args...); }};
}

StoreUnderTest sealed_under_test(std::string name, SealedHarness::Over over) {
  StoreUnderTest store = under_test<SealedHarness>(std::move(name), over);
  store.differences.seals = true;
  return store;
}

[[maybe_unused]] const bool added = [] {
  add_store(under_test<MemoryHarness>("memory"));
  add_store(under_test<EmbeddedHarness>("embedded", true));
  add_store(under_test<EmbeddedHarness>("embedded_crash", false));
  add_store(under_test<PostgresHarness>("postgres"));
  add_store(under_test<RedisHarness>("redis", RedisSetup::single));
  add_store(under_test<RedisHarness>("redis_replicated", RedisSetup::replicated));
  add_store(under_test<RedisHarness>("redis_cluster", RedisSetup::cluster));
  add_store(under_test<CachingHarness>("tiered", CachingHarness::Kind::tiered));
  add_store(under_test<CachingHarness>("redis_cached", CachingHarness::Kind::local));
  add_store(sealed_under_test("sealed_memory", SealedHarness::Over::memory));
  add_store(sealed_under_test("sealed_embedded", SealedHarness::Over::embedded));
  add_store(sealed_under_test("sealed_postgres", SealedHarness::Over::postgres));
  add_store(sealed_under_test("sealed_redis", SealedHarness::Over::redis));
  return true;
}();

}  // namespace
}  // namespace semel::stores
