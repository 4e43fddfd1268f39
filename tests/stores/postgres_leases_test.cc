// Which updates touch an index, and how a claim that was lost is found all the same.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "stores/postgres_fixture.h"

namespace semel::stores {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kMany = 400;

// Which of the claims are in a list.
std::vector<std::uint64_t> listed_numbers() {
  const postgres::PgRows listed = in_postgres("SELECT unnest(ids) FROM semel.leases");
  std::set<RecordId> ids;
  for (int row = 0; row < listed.size(); ++row) {
    RecordId id;
    std::memcpy(id.bytes.data(), listed.bytes(row, 0).data(), id.bytes.size());
    ids.insert(id);
  }
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t n = 0; n < kMany; ++n) {
    if (ids.contains(id_of(n))) numbers.push_back(n);
  }
  return numbers;
}

TEST_F(PostgresStoreTest, ARenewalTouchesNoIndex) {
  const RecordId id = id_of(1);
  Version version = apply(id, 0, claim_of(id));
  const std::int64_t due = number_in_postgres("due_at FROM semel.records");
  for (int n = 2; n < 5; ++n) {
    Record renewed = claim_of(id);
    renewed.lease_until = kThen + std::chrono::hours(n);
    version = apply(id, version, renewed);
  }
  EXPECT_EQ(number_in_postgres("due_at FROM semel.records"), due);
  EXPECT_EQ(read(id)->lease_until, kThen + 4h);
  Record ended = claim_of(id);
  ended.lease_until = kThen - 1h;
  apply(id, version, ended);
  EXPECT_LT(number_in_postgres("due_at FROM semel.records"), due);
}

TEST_F(PostgresStoreTest, CompletingClaimsThatWereMadeTogetherTouchesNoIndex) {
  const auto versions = apply_together(kMany, [](std::uint64_t n) { return claim_of(id_of(n)); });
  const std::int64_t listed =
      number_in_postgres("coalesce(sum(cardinality(ids)), 0) FROM semel.leases");
  // How many share a statement depends on how busy the machine is.
  EXPECT_GT(listed, kMany / 8);
  const std::string early = "count(*) FROM semel.records WHERE due_at <= lease_until";
  EXPECT_EQ(number_in_postgres(early), kMany - listed) << "those that went by themselves";
  const auto hot_updates = [] {
    return number_in_postgres("n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'records'");
  };
  const std::int64_t before = hot_updates();
  apply_together(
      kMany, [](std::uint64_t n) { return completion_of(id_of(n), kThen + 22h); }, versions);
  const std::string soon =
      "count(*) FROM semel.records WHERE due_at BETWEEN expires_at AND "
      "expires_at + semel.slack(ttl)";
  EXPECT_EQ(number_in_postgres(soon), kMany);
  close();
  everything_is_counted();
  EXPECT_GT(hot_updates() - before, listed / 2);

  const auto mine = open_postgres_or_throw({.url = postgres_url()});
  EXPECT_EQ(run(mine->sweep(kThen + 2h, 1000))->size(), 0);
  EXPECT_EQ(number_in_postgres("count(*) FROM semel.leases"), 0);
  EXPECT_EQ(run(mine->sweep(kThen + 23h, 1000))->size(), kMany);
}

// More than are looked at at once: lists that are left over would grow without end under load.
TEST_F(PostgresStoreTest, OneSweepLooksAtEveryListThatIsDue) {
  constexpr std::uint64_t kVeryMany = 20'000;
  constexpr std::int64_t kLookedAtAtOnce = 4096;
  const auto versions =
      apply_together(kVeryMany, [](std::uint64_t n) { return claim_of(id_of(n)); });
  apply_together(
      kVeryMany, [](std::uint64_t n) { return completion_of(id_of(n), kThen + 22h); }, versions);
  ASSERT_GT(number_in_postgres("sum(cardinality(ids)) FROM semel.leases"), kLookedAtAtOnce);
  EXPECT_EQ(run(store().sweep(kThen + 2h, 1000))->size(), 0);
  EXPECT_EQ(number_in_postgres("count(*) FROM semel.leases"), 0);
}

TEST_F(PostgresStoreTest, ALostClaimIsFoundWhenItsLeaseIsOverHoweverItWasMade) {
  auto versions = apply_together(kMany, [](std::uint64_t n) { return claim_of(id_of(n)); });
  ASSERT_GT(number_in_postgres("count(*) FROM semel.leases"), 0);
  // Three of a list: those that went by themselves are in none.
  const std::vector<std::uint64_t> three = listed_numbers();
  ASSERT_GE(three.size(), 3);
  const RecordId done = id_of(three[0]);
  const RecordId renewed = id_of(three[1]);
  const RecordId held = id_of(three[2]);
  apply(done, versions[three[0]], completion_of(done, kThen + 22h));
  Record later = claim_of(renewed);
  later.lease_until = kThen + 3h;
  apply(renewed, versions[three[1]], later);
  Session application;
  application.run("BEGIN");
  application.run("SELECT FROM semel.records WHERE id = " + literal(held) + " FOR UPDATE");
  const auto sweep = [&](Time at) {
    std::set<RecordId> ids;
    const auto lapsed = run(store().sweep(at, 1000)).value();
    for (const RecordPtr& record : lapsed) ids.insert(record->id);
    return ids;
  };
  EXPECT_EQ(sweep(kThen + 59min).size(), 0);
  const auto lost = sweep(kThen + 1h);
  EXPECT_EQ(lost.size(), kMany - 3);
  EXPECT_FALSE(lost.contains(done) || lost.contains(renewed) || lost.contains(held));
  EXPECT_EQ(number_in_postgres("count(*) FROM semel.leases"), 1) << "of the one that is held";

  application.run("ROLLBACK");
  EXPECT_TRUE(sweep(kThen + 1h + 1s).contains(held));
  EXPECT_EQ(number_in_postgres("count(*) FROM semel.leases"), 0);
  EXPECT_FALSE(sweep(kThen + 2h).contains(renewed));
  EXPECT_TRUE(sweep(kThen + 3h).contains(renewed));
  EXPECT_FALSE(sweep(kThen + 3h).contains(done));
}

}  // namespace
}  // namespace semel::stores
