// Runs the schedules of faults with PostgreSQL in place of the model: it must be as good a
// compare-and-swap map as the model is.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/store/on_store.h"
#include "sim/world.h"
#include "stores/postgres_harness.h"

namespace semel::sim {
namespace {

constexpr std::uint64_t kSeedsOnPostgres = 10;

TEST(SimulationOnPostgres, KeepsEveryPromiseUnderFaults) {
  for (std::uint64_t seed = 1; seed <= kSeedsOnPostgres; ++seed) {
    stores::PostgresHarness postgres;
    OnStore store(postgres.store());
    const Report report = run_seed_on(store, seed);
    ASSERT_TRUE(report.violations.empty()) << "seed " << seed << "\n"
                                           << fmt::format("{}", fmt::join(report.violations, "\n"));
  }
}

}  // namespace
}  // namespace semel::sim
