// A repair makes nothing executable that may have been executed in a state that was lost.
#include "stores/embedded/repair/repair.h"

#include <gtest/gtest.h>

#include "stores/embedded_harness.h"

namespace semel::stores {
namespace {

constexpr Time kExpires{Duration(2000)};
constexpr Time kForgotten{Duration(3000)};

void add_record(Store& store, std::uint8_t number, RecordState state) {
  Record record;
  record.id.bytes[0] = number;
  record.state = state;
  record.expires_at = state == RecordState::tombstone ? kNever : kExpires;
  record.tombstone_until = kForgotten;
  const SwapResult made = run(store.swap(record.id, 0, std::make_shared<Record>(record)));
  ASSERT_TRUE(std::holds_alternative<swap::Applied>(made));
}

// Makes a store with a record in each state that ends by itself, damages it, and repairs it.
RepairReport repaired_at(Time now) {
  const ScratchDirectory directory;
  const std::filesystem::path from = directory.path() / "store";
  {
    const auto store = open_or_throw({.path = from, .sync = false});
    add_record(*store, 1, RecordState::completed);
    add_record(*store, 2, RecordState::released);
    add_record(*store, 3, RecordState::tombstone);
  }
  std::filesystem::remove(from / "CURRENT");
  const auto report =
      repair_embedded_store(from, directory.path() / "repaired", RepairDone::keep, now);
  EXPECT_TRUE(report) << report.error();
  return report.value_or(RepairReport{});
}

using Records = std::map<std::string, std::uint64_t>;

TEST(EmbeddedRepair, KeepsWhatIsNotExecutable) {
  for (const Time now : {kExpires - Duration(1), kForgotten - Duration(1)}) {
    const RepairReport report = repaired_at(now);
    EXPECT_EQ(report.records, (Records{{"completed", 1}, {"tombstone", 1}, {"unknown", 1}}));
    EXPECT_EQ(report.made_unknown, 1u);
  }
}

// Their keys were new again: they may have been claimed, and that may be lost.
TEST(EmbeddedRepair, WhatHasExpiredIsUnknown) {
  const RepairReport report = repaired_at(kForgotten);
  EXPECT_EQ(report.records, (Records{{"unknown", 3}}));
  EXPECT_EQ(report.made_unknown, 3u);
}

}  // namespace
}  // namespace semel::stores
