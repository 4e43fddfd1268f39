// The machine that writes a record and is sure of it, one swap after the other.
#include "engine/confirm.h"

#include <gtest/gtest.h>

namespace semel::engine {
namespace {

using Before = Confirm::Before;
using Mark = Confirm::Mark;
using Step = Confirm::Step;

std::shared_ptr<Record> record(Version version, std::uint8_t token = 1,
                               RecordState state = RecordState::in_progress) {
  auto made = std::make_shared<Record>();
  made->version = version;
  made->token.bytes[0] = token;
  made->state = state;
  return made;
}

Step took(Confirm& confirm, SwapResult result) {
  return confirm.took(result);
}

const swap::Unknown kUnknown{"the connection broke"};
const StoreUnavailable kUnavailable{"no connection"};

TEST(Confirm, AnAcknowledgedWriteIsDurableAtTheStoresVersion) {
  Confirm confirm(Mark::token, record(0), 0);
  EXPECT_EQ(took(confirm, swap::Applied{7}), Step::durable);
  EXPECT_EQ(confirm.take_next()->version, 7U);
}

TEST(Confirm, AnAcknowledgedRemovalIsDurable) {
  Confirm confirm(Mark::content, nullptr, 3);
  EXPECT_EQ(took(confirm, swap::Applied{0}), Step::durable);
  EXPECT_EQ(confirm.take_next(), nullptr);
}

TEST(Confirm, AWriteThatIsSeenIsNotDurableBeforeASecondWriteIs) {
  for (const Mark mark : {Mark::token, Mark::content}) {
    Confirm confirm(mark, record(0), 0);
    EXPECT_EQ(took(confirm, kUnknown), Step::later);
    EXPECT_TRUE(confirm.is_unsure());
    EXPECT_FALSE(confirm.was_seen());
    const auto seen = record(5);
    EXPECT_EQ(took(confirm, swap::Conflict{seen}), Step::again);
    EXPECT_TRUE(confirm.was_seen());
    EXPECT_EQ(confirm.next(), seen);
    EXPECT_EQ(confirm.next()->version, 5U);
    EXPECT_EQ(confirm.expected(), 5U);
    EXPECT_EQ(took(confirm, swap::Applied{6}), Step::durable);
    EXPECT_EQ(confirm.next()->version, 6U);
  }
}

TEST(Confirm, TheSecondWriteMayBeOfUnknownFateAsWell) {
  Confirm confirm(Mark::content, record(0), 0);
  EXPECT_EQ(took(confirm, kUnknown), Step::later);
  EXPECT_EQ(took(confirm, swap::Conflict{record(5)}), Step::again);
  EXPECT_EQ(took(confirm, kUnknown), Step::later);
  EXPECT_EQ(confirm.expected(), 5U);
  EXPECT_EQ(took(confirm, swap::Conflict{record(6)}), Step::again);
  EXPECT_EQ(confirm.expected(), 6U);
  EXPECT_EQ(took(confirm, swap::Applied{7}), Step::durable);
}

TEST(Confirm, AnEqualRecordIsSomebodyElsesIfNoWriteOfOursCanHaveLanded) {
  Confirm confirm(Mark::content, record(0), 0);
  const auto current = record(5);
  EXPECT_EQ(took(confirm, swap::Conflict{current}), Step::lost);
  EXPECT_EQ(confirm.take_found(), current);
}

TEST(Confirm, AnotherRecordIsLostAlsoAfterAnUnknownFate) {
  Confirm confirm(Mark::content, record(0), 0);
  EXPECT_EQ(took(confirm, kUnknown), Step::later);
  const auto other = record(5, 1, RecordState::completed);
  EXPECT_EQ(took(confirm, swap::Conflict{other}), Step::lost);
  EXPECT_EQ(confirm.take_found(), other);
  EXPECT_EQ(other->version, 5U);
}

TEST(Confirm, AClaimIsKnownByItsToken) {
  const struct {
    std::shared_ptr<Record> current;
    Step step;
  } cases[] = {
      {record(5), Step::again},
      {record(5, 2), Step::lost},
      {record(5, 1, RecordState::unknown), Step::ended},
      {nullptr, Step::lost},
  };
  for (const bool unsure : {false, true}) {
    for (const auto& [current, step] : cases) {
      Confirm confirm(Mark::token, record(0), 0, unsure ? Before::unsure : Before::nothing);
      EXPECT_EQ(took(confirm, swap::Conflict{current}), step);
      EXPECT_EQ(step == Step::again ? confirm.take_next() : confirm.take_found(), current);
    }
  }
}

TEST(Confirm, WhatCannotBeReachedHasNotWrittenUnlessAnEarlierTryMayHave) {
  Confirm confirm(Mark::token, record(0), 0);
  EXPECT_EQ(took(confirm, kUnavailable), Step::unavailable);
  EXPECT_FALSE(confirm.is_unsure());
  EXPECT_EQ(took(confirm, kUnknown), Step::later);
  EXPECT_EQ(took(confirm, kUnavailable), Step::later);
  EXPECT_TRUE(confirm.is_unsure());
}

TEST(Confirm, ARecordInAnOpenTransactionIsHeldOrHasMoved) {
  Confirm confirm(Mark::content, record(3), 3);
  EXPECT_EQ(took(confirm, swap::Busy{}), Step::held);
  EXPECT_EQ(confirm.take_found(), nullptr);
  const auto as_expected = record(3);
  EXPECT_EQ(took(confirm, swap::Busy{as_expected}), Step::held);
  EXPECT_EQ(confirm.take_found(), as_expected);
  const auto moved = record(4);
  EXPECT_EQ(took(confirm, swap::Busy{moved}), Step::lost);
  EXPECT_EQ(confirm.take_found(), moved);
}

TEST(Confirm, WhatAnOpenTransactionShowsIsNotBelievedWhileUnsure) {
  for (const Mark mark : {Mark::token, Mark::content}) {
    Confirm confirm(mark, record(3), 3);
    EXPECT_EQ(took(confirm, kUnknown), Step::later);
    EXPECT_EQ(took(confirm, swap::Busy{record(4)}), Step::later);
    EXPECT_EQ(took(confirm, swap::Busy{}), Step::later);
    EXPECT_EQ(confirm.expected(), 3U);
    Confirm resumed(mark, record(3), 3, Before::unsure);
    EXPECT_EQ(took(resumed, swap::Busy{record(4)}), Step::later);
    EXPECT_EQ(took(resumed, kUnavailable), Step::later);
  }
}

TEST(Confirm, ARemovalIsProvedByWhatStandsInItsPlace) {
  Confirm confirm(Mark::content, nullptr, 3);
  EXPECT_EQ(took(confirm, kUnknown), Step::later);
  EXPECT_EQ(took(confirm, swap::Conflict{}), Step::gone);
  const auto in_its_place = record(3, 1, RecordState::released);
  confirm.prove_removal_by(in_its_place);
  EXPECT_EQ(confirm.expected(), 0U);
  EXPECT_EQ(confirm.next(), in_its_place);
  EXPECT_EQ(took(confirm, swap::Applied{9}), Step::durable);
}

TEST(Confirm, ARemovalThatSomebodyElseMadeIsLost) {
  Confirm confirm(Mark::content, nullptr, 3);
  EXPECT_EQ(took(confirm, swap::Conflict{}), Step::lost);
  EXPECT_EQ(took(confirm, kUnknown), Step::later);
  EXPECT_EQ(took(confirm, swap::Conflict{record(4)}), Step::lost);
  Confirm change(Mark::content, record(3), 3, Before::unsure);
  EXPECT_EQ(took(change, swap::Conflict{}), Step::lost);
}

TEST(Confirm, ARecordThatIsTooLargeIsNotWritten) {
  Confirm confirm(Mark::content, record(3), 3);
  EXPECT_EQ(took(confirm, swap::TooLarge{10}), Step::too_large);
}

}  // namespace
}  // namespace semel::engine
