// The writer trusts what callers have read, as far as that is still the truth.
#include "stores/embedded/writer.h"

#include <gtest/gtest.h>

#include <variant>

#include "stores/embedded_harness.h"

namespace semel::stores {
namespace {

class EmbeddedWriterTest : public testing::Test {
 protected:
  // As a caller that read just now, or at `seen`, would ask.
  SwapRequest request(std::uint64_t n, Version expected, const std::string& bytes, Sighting seen) {
    return {.id = id_of(n), .expected = expected, .next = Stored{{}, bytes}, .seen = seen};
  }
  Sighting look(std::uint64_t n) {
    const std::uint64_t group = writer_.committed();
    const auto found = db_->get(id_of(n), EmbeddedDb::Reach::disk);
    return {group, *found ? (*found)->head : Head{}};
  }
  Version write(std::uint64_t n, const std::string& bytes) {
    const Sighting seen = look(n);
    const SwapRequest swap = request(n, seen.head.version, bytes, seen);
    const SwapReply reply = writer_.apply(swap);
    EXPECT_TRUE(writer_.commit().ok());
    return std::get<swap::Applied>(reply).version;
  }

  ScratchDirectory directory_;
  std::unique_ptr<EmbeddedDb> db_ = *EmbeddedDb::open({.path = directory_.path() / "store"});
  EmbeddedWriter writer_{*db_};
};

TEST_F(EmbeddedWriterTest, TheSecondOfAGroupMeetsTheFirst) {
  const Sighting seen = look(1);
  const SwapRequest first = request(1, 0, "first", seen);
  const SwapRequest second = request(1, 0, "second", seen);
  const Version version = std::get<swap::Applied>(writer_.apply(first)).version;
  const SwapReply reply = writer_.apply(second);
  const auto& current = std::get<StoredConflict>(reply).current;
  ASSERT_TRUE(current);
  EXPECT_EQ(current->encoding, "first");
  EXPECT_EQ(current->head.version, version);
}

TEST_F(EmbeddedWriterTest, TheSecondOfAGroupMeetsARemoval) {
  const Version version = write(1, "first");
  const Sighting seen = look(1);
  SwapRequest removal = request(1, version, "", seen);
  removal.next.reset();
  const SwapRequest late = request(1, version, "late", seen);
  const SwapRequest fresh = request(1, 0, "fresh", seen);
  EXPECT_EQ(std::get<swap::Applied>(writer_.apply(removal)).version, 0);
  EXPECT_FALSE(std::get<StoredConflict>(writer_.apply(late)).current);
  EXPECT_GT(std::get<swap::Applied>(writer_.apply(fresh)).version, version);
}

// However long a caller took between its read and its swap, what came between is not overlooked.
TEST_F(EmbeddedWriterTest, AnOldSightingIsNotBelieved) {
  for (int groups_between = 0; groups_between < 20; ++groups_between) {
    const auto n = static_cast<std::uint64_t>(1000 + groups_between);
    const Sighting absent = look(n);
    const Version version = write(n, "there first");
    for (int group = 0; group < groups_between; ++group) write(1, "other");
    const SwapRequest late = request(n, 0, "late", absent);
    const SwapReply reply = writer_.apply(late);
    const auto* conflict = std::get_if<StoredConflict>(&reply);
    ASSERT_TRUE(conflict) << groups_between;
    EXPECT_EQ(conflict->current->encoding, "there first");
    EXPECT_EQ(conflict->current->head.version, version);
    EXPECT_TRUE(writer_.commit().ok());
  }
}

// Ending an execution needs no read: the writer keeps the heads of records in progress, no others.
TEST_F(EmbeddedWriterTest, TheHeadsOfRecordsInProgressAreAtHand) {
  SwapRequest claim = request(1, 0, "claim", look(1));
  claim.in_progress = true;
  const Version version = std::get<swap::Applied>(writer_.apply(claim)).version;
  EXPECT_FALSE(writer_.in_progress_head(id_of(1))) << "it is not durable yet";
  EXPECT_TRUE(writer_.commit().ok());
  ASSERT_TRUE(writer_.in_progress_head(id_of(1)));
  EXPECT_EQ(writer_.in_progress_head(id_of(1))->version, version);

  SwapRequest renewal = request(1, version, "renewal", look(1));
  renewal.in_progress = true;
  const Version renewed = std::get<swap::Applied>(writer_.apply(renewal)).version;
  EXPECT_TRUE(writer_.commit().ok());
  EXPECT_EQ(writer_.in_progress_head(id_of(1))->version, renewed);

  EXPECT_GT(write(1, "completion"), renewed);
  EXPECT_FALSE(writer_.in_progress_head(id_of(1)));
}

TEST_F(EmbeddedWriterTest, WhatBeginsAndEndsInOneGroupIsNotInProgress) {
  SwapRequest claim = request(1, 0, "claim", look(1));
  claim.in_progress = true;
  const Version version = std::get<swap::Applied>(writer_.apply(claim)).version;
  SwapRequest removal = request(1, version, "", look(1));
  removal.next.reset();
  EXPECT_EQ(std::get<swap::Applied>(writer_.apply(removal)).version, 0);
  EXPECT_TRUE(writer_.commit().ok());
  EXPECT_FALSE(writer_.in_progress_head(id_of(1)));
}

// A head that was at hand counts like one that was read: what came after it is not overlooked.
TEST_F(EmbeddedWriterTest, AnOldHeadIsNotBelieved) {
  for (int groups_between = 0; groups_between < 20; ++groups_between) {
    const auto n = static_cast<std::uint64_t>(1000 + groups_between);
    SwapRequest claim = request(n, 0, "claim", look(n));
    claim.in_progress = true;
    const Version version = std::get<swap::Applied>(writer_.apply(claim)).version;
    EXPECT_TRUE(writer_.commit().ok());
    const Sighting at_hand{writer_.committed(), writer_.in_progress_head(id_of(n)).value()};
    write(n, "swept up");
    for (int group = 0; group < groups_between; ++group) write(1, "other");
    const SwapRequest late = request(n, version, "late", at_hand);
    const SwapReply reply = writer_.apply(late);
    const auto* conflict = std::get_if<StoredConflict>(&reply);
    ASSERT_TRUE(conflict) << groups_between;
    EXPECT_EQ(conflict->current->encoding, "swept up");
    EXPECT_TRUE(writer_.commit().ok());
  }
}

}  // namespace
}  // namespace semel::stores
