#include "stores/postgres/notes.h"

#include <gtest/gtest.h>

namespace semel::stores {
namespace {

Time at(std::int64_t ms) {
  return Time(Duration(ms));
}

Record in_progress() {
  Record record;
  record.attempt = 1;
  record.updated_at = at(5);
  record.request = "POST";
  record.status_begun = 200;
  record.history = {{at(1), RecordState::in_progress, 1, "claimed"}};
  return record;
}

TEST(PostgresNotes, EveryLineIsALineOfTheHistoryAndTheLastOneTheReason) {
  Record record = in_progress();
  take_notes(
      record,
      "1700000000000 4 1 no luck today\n1700000000001 2 2 claimed again\n1700000000002 3 2 done");
  ASSERT_EQ(record.history.size(), 4u);
  EXPECT_EQ(record.history[1],
            (HistoryEntry{at(1700000000000), RecordState::released, 1, "no luck today"}));
  EXPECT_EQ(record.history[3],
            (HistoryEntry{at(1700000000002), RecordState::completed, 2, "done"}));
  EXPECT_EQ(record.reason, "done");
  EXPECT_EQ(record.reason_code, ReasonCode::other);
  EXPECT_EQ(record.request, "");
  EXPECT_EQ(record.status_begun, 0);
}

TEST(PostgresNotes, AClaimHasNoReason) {
  Record record = in_progress();
  record.reason = "no answer";
  record.reason_code = ReasonCode::other;
  take_notes(record, "1700000000001 2 2 claimed again");
  EXPECT_EQ(record.reason, "");
  EXPECT_EQ(record.reason_code, ReasonCode::none);
  EXPECT_EQ(record.request, "");
}

// A client is shown the executor's status, and nothing else that happens to begin like it.
TEST(PostgresNotes, TheWordsOfAnApplicationAreNeverTakenForAStatus) {
  Record record = in_progress();
  record.reason_code = ReasonCode::executor_status;
  take_notes(record, "1700000000001 4 1 status of account 7 is frozen");
  EXPECT_EQ(record.reason, "status of account 7 is frozen");
  EXPECT_EQ(record.reason_code, ReasonCode::other);
}

TEST(PostgresNotes, WhatBecameUnknownKeepsWhatItHad) {
  Record record = in_progress();
  take_notes(record, "1700000000001 5 1 its owner is gone");
  EXPECT_EQ(record.reason, "its owner is gone");
  EXPECT_EQ(record.request, "POST");
  EXPECT_EQ(record.status_begun, 200);
}

TEST(PostgresNotes, TheHistoryStaysBounded) {
  Record record = in_progress();
  std::string noted;
  for (int i = 0; i < 20; ++i) noted += std::to_string(i) + " 4 1 n" + std::to_string(i) + "\n";
  take_notes(record, noted);
  EXPECT_EQ(record.history.size(), kHistoryEntriesMax);
  EXPECT_EQ(record.history.back().note, "n19");
}

TEST(PostgresNotes, WhatCannotBeReadIsKeptAsItIs) {
  for (const char* line :
       {"hello", "1 2", "x 2 1 note", "1 9 1 note", "1 0 1 note", "99999999999999999999 2 1 n"}) {
    Record record = in_progress();
    take_notes(record, line);
    ASSERT_EQ(record.history.size(), 2u);
    EXPECT_EQ(record.history.back(), (HistoryEntry{at(5), RecordState::in_progress, 1, line}));
  }
}

}  // namespace
}  // namespace semel::stores
