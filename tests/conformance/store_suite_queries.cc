// Sweep, scan and stats: what the store finds without being given an id.
#include <algorithm>

#include "store_suite.h"

namespace semel::conformance {
namespace {

using namespace std::chrono_literals;

std::vector<RecordId> in_order(std::vector<RecordId> ids) {
  std::ranges::sort(ids);
  return ids;
}

}  // namespace

TEST_P(StoreSuite, SweepsWhatIsDueTheEarliestFirst) {
  promise(
      "sweep() returns the records with due_at() <= now, the earliest first, at most "
      "`limit` of them.");
  const std::vector<int> hours = {5, 1, 4, 2, 3};
  for (const int hour : hours) {
    const RecordId id = id_of(static_cast<std::uint64_t>(hour));
    apply(id, 0, completion_of(id, kThen + std::chrono::hours(hour)));
  }
  EXPECT_TRUE(sweep(kThen + 59min).empty());
  EXPECT_EQ(sweep(kThen + 1h), std::vector{id_of(1)});
  EXPECT_EQ(sweep(kThen + 3h), (std::vector{id_of(1), id_of(2), id_of(3)}));
  EXPECT_EQ(sweep(kThen + 24h, 2), (std::vector{id_of(1), id_of(2)}));
  EXPECT_EQ(sweep(kThen + 24h).size(), hours.size());
}

TEST_P(StoreSuite, SweepGivesWholeRecordsAndChangesNothing) {
  promise("sweep() returns whole records with their versions, and changes nothing.");
  const Record record = completion_of(id_of(1), kThen + 1h);
  const Version version = apply(record.id, 0, record);
  for (int round = 0; round < 2; ++round) {
    const auto due = run(store().sweep(kThen + 1h, 10));
    ASSERT_TRUE(due && due->size() == 1);
    Record expected = record;
    expected.version = version;
    EXPECT_EQ(difference(value_of(due->front()), expected), "");
  }
}

TEST_P(StoreSuite, SweepLeavesAloneWhatIsNotDue) {
  promise(
      "sweep() goes by due_at() of the state that the record is in, and never returns what "
      "is due at kNever.");
  const Time late = kThen + 30min;
  apply(id_of(1), 0, claim_of(id_of(1)));           // its lease lives
  apply(id_of(2), 0, unknown_of(id_of(2), kThen));  // held for good
  Record buried = completion_of(id_of(3), kThen - 1h);
  buried.state = RecordState::tombstone;
  buried.tombstone_until = kNever;
  apply(id_of(3), 0, buried);
  Record held = unknown_of(id_of(4), kThen);
  held.hold_until = kThen + 10min;
  apply(id_of(4), 0, held);
  EXPECT_EQ(sweep(late), std::vector{id_of(4)});
  EXPECT_EQ(sweep(kThen + 1h), (std::vector{id_of(4), id_of(1)}));
  EXPECT_EQ(sweep(kNever), (std::vector{id_of(4), id_of(1)}));
}

TEST_P(StoreSuite, SweepFollowsTheRecord) {
  promise("After each swap, sweep() goes by the record as it is now.");
  const RecordId id = id_of(1);
  Version version = apply(id, 0, claim_of(id));
  EXPECT_EQ(sweep(kThen + 1h), std::vector{id});
  Record renewed = claim_of(id);
  renewed.lease_until = kThen + 2h;
  version = apply(id, version, renewed);
  EXPECT_TRUE(sweep(kThen + 1h).empty());
  EXPECT_EQ(sweep(kThen + 2h), std::vector{id});
  version = apply(id, version, completion_of(id, kThen + 24h));
  EXPECT_TRUE(sweep(kThen + 2h).empty());
  version = apply(id, version, completion_of(id, kThen - 24h));
  EXPECT_EQ(sweep(kThen - 24h), std::vector{id});
  apply(id, version, std::nullopt);
  EXPECT_TRUE(sweep(kNever).empty());
}

TEST_P(StoreSuite, SweepFindsWhatBecomesDueEarlierThanAllBefore) {
  promise("sweep() finds a record that becomes due earlier than all before it.");
  for (int hour = 24; hour > 0; --hour) {
    const RecordId id = id_of(static_cast<std::uint64_t>(hour));
    apply(id, 0, completion_of(id, kThen + std::chrono::hours(hour)));
    EXPECT_EQ(sweep(kNever, 1), std::vector{id});
  }
  EXPECT_EQ(sweep(kNever).size(), 24);
}

TEST_P(StoreSuite, SweepFindsAllThatAreDueAtOneInstant) {
  promise("sweep() returns all records that are due at the same instant, up to `limit`.");
  std::vector<RecordId> ids;
  for (std::uint64_t n = 0; n < 20; ++n) {
    ids.push_back(id_of(n));
    apply(id_of(n), 0, completion_of(id_of(n), kThen + 1h));
  }
  EXPECT_EQ(in_order(sweep(kThen + 1h)), in_order(ids));
  EXPECT_EQ(sweep(kThen + 1h, 7).size(), 7);
  EXPECT_TRUE(sweep(kThen + 1h - 1ms).empty());
}

TEST_P(StoreSuite, ScanGivesWholeRecords) {
  promise("scan() returns whole records with their versions.");
  const Record record = completion_of(id_of(1), kThen + 1h);
  const Version version = apply(record.id, 0, record);
  const auto page = run(store().scan(std::nullopt, 10));
  ASSERT_TRUE(page && page->records.size() == 1);
  EXPECT_EQ(difference(value_of(page->records.front()), at_version(record, version)), "");
}

TEST_P(StoreSuite, SweepKeepsUpWithWritesBesideIt) {
  promise("sweep() works beside writes, and misses none that was Applied before it began.");
  Beside writer([&](const std::stop_token&) {
    for (std::uint64_t n = 0; n < 200; ++n) {
      const Time due = kThen + std::chrono::minutes(n * 7 % 200);
      apply(id_of(n), 0, completion_of(id_of(n), due));
    }
  });
  while (!writer.finished()) sweep(kNever, 10);
  writer.join();
  EXPECT_EQ(sweep(kNever, 1000).size(), 200);
}

TEST_P(StoreSuite, ScanGivesEveryRecordOnceInIdOrder) {
  promise(
      "scan() returns every record once, in the order of the ids, whatever the size of a "
      "page.");
  std::vector<RecordId> ids;
  for (std::uint64_t n = 0; n < 57; ++n) {
    ids.push_back(id_of(n));
    apply(id_of(n), 0, claim_of(id_of(n)));
  }
  for (const std::size_t page_size : {1, 7, 19, 56, 57, 58, 1000}) {
    EXPECT_EQ(scan(page_size), in_order(ids)) << page_size;
  }
}

TEST_P(StoreSuite, ScanGoesOnAfterARecordThatIsGone) {
  promise(
      "scan() continues after an id whose record has gone, and ends with a page without "
      "`next`.");
  for (std::uint64_t n = 0; n < 9; ++n) apply(id_of(n), 0, claim_of(id_of(n)));
  const auto first = run(store().scan(std::nullopt, 3));
  ASSERT_TRUE(first && first->next);
  apply(*first->next, existing(*first->next).version, std::nullopt);
  const auto rest = run(store().scan(first->next, 100));
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->records.size(), 6);
  EXPECT_EQ(rest->next, std::nullopt);
}

TEST_P(StoreSuite, ScanGivesEveryRecordOnceWhileOthersCome) {
  promise(
      "scan() returns every record that was there all along, once, whatever is written "
      "beside it.");
  std::vector<RecordId> old;
  std::vector<Version> versions;
  for (std::uint64_t n = 0; n < 100; ++n) {
    old.push_back(id_of(n));
    versions.push_back(apply(id_of(n), 0, claim_of(id_of(n))));
  }
  const Beside writer([&](const std::stop_token& stop) {
    for (std::uint64_t n = 0; !stop.stop_requested(); ++n) {
      apply(id_of(1000 + n), 0, claim_of(id_of(1000 + n)));
      versions[n % 100] = apply(old[n % 100], versions[n % 100], claim_of(old[n % 100]));
    }
  });
  for (int round = 0; round < 3; ++round) {
    const std::vector<RecordId> found = scan(9);
    EXPECT_TRUE(std::ranges::is_sorted(found));
    EXPECT_EQ(std::ranges::adjacent_find(found), found.end());
    EXPECT_TRUE(std::ranges::includes(found, in_order(old)));
  }
}

TEST_P(StoreSuite, StatsCountUnknownRecordsAndKnowTheOldest) {
  promise(
      "stats() counts the records that are unknown now, and knows since when the oldest "
      "one is.");
  expect_stats(0, std::nullopt);
  std::vector<Version> versions;
  for (const int hour : {2, 1, 3}) {
    const RecordId id = id_of(versions.size());
    versions.push_back(apply(id, 0, unknown_of(id, kThen + std::chrono::hours(hour))));
  }
  apply(id_of(9), 0, claim_of(id_of(9)));
  expect_stats(3, kThen + 1h);

  apply(id_of(1), versions[1], completion_of(id_of(1), kThen + 24h));
  expect_stats(2, kThen + 2h);

  versions[0] = apply(id_of(0), versions[0], unknown_of(id_of(0), kThen + 4h));
  expect_stats(2, kThen + 3h);

  apply(id_of(0), versions[0], std::nullopt);
  apply(id_of(2), versions[2], std::nullopt);
  expect_stats(0, std::nullopt);
}

}  // namespace semel::conformance
