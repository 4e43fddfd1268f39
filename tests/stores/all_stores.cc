// The stores that the suite is run against: one line each.
#include "conformance/store_suite.h"
#include "stores/caching_harness.h"
#include "stores/embedded_harness.h"
#include "stores/memory_store.h"
#include "stores/postgres_harness.h"
#include "stores/redis_harness.h"
#include "stores/sealed_harness.h"

namespace semel {
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

INSTANTIATE_TEST_SUITE_P(
    Stores, StoreSuite,
    testing::Values(under_test<MemoryHarness>("memory"),
                    under_test<EmbeddedHarness>("embedded", true),
                    under_test<EmbeddedHarness>("embedded_crash", false),
                    under_test<PostgresHarness>("postgres"),
                    under_test<RedisHarness>("redis", RedisSetup::single),
                    under_test<RedisHarness>("redis_replicated", RedisSetup::replicated),
                    under_test<RedisHarness>("redis_cluster", RedisSetup::cluster),
                    under_test<CachingHarness>("tiered", CachingHarness::Kind::tiered),
                    under_test<CachingHarness>("redis_cached", CachingHarness::Kind::local),
                    under_test<SealedHarness>("sealed_memory", SealedHarness::Over::memory),
                    under_test<SealedHarness>("sealed_embedded", SealedHarness::Over::embedded),
                    under_test<SealedHarness>("sealed_postgres", SealedHarness::Over::postgres),
                    under_test<SealedHarness>("sealed_redis", SealedHarness::Over::redis)),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace semel
