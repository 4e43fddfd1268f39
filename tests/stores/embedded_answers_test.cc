// The embedded store's cache of completed records: it never returns one that is out of date.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <variant>

#include "stores/embedded_harness.h"
#include "stores/faulty_files.h"

namespace semel::stores {
namespace {

using namespace std::chrono_literals;

class EmbeddedAnswersTest : public ::testing::Test {
 protected:
  EmbeddedAnswersTest() { reopen(); }

  void reopen() {
    store_.reset();
    store_ = open_or_throw(options_);
  }
  Version apply(const RecordId& id, Version expected, std::optional<Record> next) {
    const SwapResult result = run(store_->swap(id, expected, shared(std::move(next))));
    return std::get<swap::Applied>(result).version;
  }
  // A claim of a key that has a record.
  void claim_in_vain(const RecordId& id) {
    EXPECT_TRUE(
        std::holds_alternative<swap::Conflict>(run(store_->swap(id, 0, shared(claim_of(id))))));
  }
  std::optional<Record> at_hand(const RecordId& id) {
    return value_of(store_->cached_completed(id));
  }
  std::optional<Record> truth(const RecordId& id) {
    return value_of(run(store_->read(id)).value());
  }

  const RecordId id_ = id_of(1);
  ScratchDirectory directory_;
  FaultyFiles files_;
  EmbeddedOptions options_{.path = directory_.path() / "store", .env = files_.env()};
  std::unique_ptr<Store> store_;
};

TEST_F(EmbeddedAnswersTest, WhatWasCompletedIsAtHandAsItIsKept) {
  const Version claimed = apply(id_, 0, claim_of(id_));
  EXPECT_EQ(at_hand(id_), std::nullopt) << "it is not completed";
  apply(id_, claimed, completion_of(id_, kThen));
  EXPECT_EQ(at_hand(id_), truth(id_));
  EXPECT_TRUE(at_hand(id_));
}

TEST_F(EmbeddedAnswersTest, WhatReplacesItIsAtHandInItsPlaceOrNothing) {
  const Version completed = apply(id_, 0, completion_of(id_, kThen));
  Record decided = completion_of(id_, kThen);
  decided.answer.body = "as an operator decided";
  decided.updated_at -= 1h;  // a clock that was set back changes nothing
  const Version again = apply(id_, completed, decided);
  EXPECT_EQ(at_hand(id_), truth(id_));
  EXPECT_EQ(at_hand(id_)->answer.body, "as an operator decided");

  Record tombstone = claim_of(id_);
  tombstone.state = RecordState::tombstone;
  const Version expired = apply(id_, again, tombstone);
  EXPECT_EQ(at_hand(id_), std::nullopt);

  const Version anew = apply(id_, expired, completion_of(id_, kThen));
  EXPECT_TRUE(at_hand(id_));
  apply(id_, anew, std::nullopt);
  EXPECT_EQ(at_hand(id_), std::nullopt);
}

TEST_F(EmbeddedAnswersTest, AfterARestartTheFirstClaimBringsItBack) {
  apply(id_, 0, completion_of(id_, kThen));
  reopen();
  EXPECT_EQ(at_hand(id_), std::nullopt);
  claim_in_vain(id_);
  EXPECT_EQ(at_hand(id_), truth(id_));
  EXPECT_TRUE(at_hand(id_));
}

TEST_F(EmbeddedAnswersTest, NoMoreIsKeptThanThereIsRoomFor) {
  options_.answers_bytes_max = 64 << 10;
  reopen();
  Record large = completion_of(id_, kThen);
  for (std::uint64_t n = 0; n < 16; ++n) {
    large.id = id_of(n);
    large.answer.body.assign(16 << 10, 'x');
    apply(large.id, 0, large);
  }
  EXPECT_TRUE(at_hand(id_of(15)));
  EXPECT_EQ(at_hand(id_of(0)), std::nullopt);
  large.id = id_of(100);
  large.answer.body.assign(128 << 10, 'x');
  apply(large.id, 0, large);
  EXPECT_EQ(at_hand(id_of(100)), std::nullopt);
  EXPECT_TRUE(at_hand(id_of(15)));
  options_.answers_bytes_max = 0;
  reopen();
  claim_in_vain(id_of(15));
  EXPECT_EQ(at_hand(id_of(15)), std::nullopt);
}

TEST_F(EmbeddedAnswersTest, AStoreThatHasStoppedHasNothingAtHand) {
  apply(id_, 0, completion_of(id_, kThen));
  files_.fail_sync = true;
  const SwapResult failed = run(store_->swap(id_of(2), 0, shared(claim_of(id_of(2)))));
  EXPECT_TRUE(std::holds_alternative<swap::Unknown>(failed));
  EXPECT_EQ(at_hand(id_), std::nullopt);
}

// One changes the record over and over; others claim it in vain, which puts what they have read at
// hand. Whatever is found there was not replaced before it was looked for.
TEST_F(EmbeddedAnswersTest, NothingAtHandIsOlderThanWhatWasAcknowledged) {
  options_.sync = false;
  reopen();
  constexpr int kRounds = 3000;
  std::atomic<Version> acknowledged = apply(id_, 0, completion_of(id_, kThen));
  std::atomic<bool> done = false;
  std::atomic<int> found = 0;
  std::atomic<int> out_of_date = 0;
  std::vector<std::jthread> readers;
  for (int reader = 0; reader < 3; ++reader) {
    readers.emplace_back([&] {
      while (!done) {
        run(store_->swap(id_, 0, shared(claim_of(id_))));
        const Version before = acknowledged;
        const auto record = store_->cached_completed(id_);
        if (!record) continue;
        ++found;
        out_of_date += record->version < before;
      }
    });
  }
  Version version = acknowledged;
  for (int round = 0; round < kRounds; ++round) {
    Record next = round % 2 == 0 ? claim_of(id_) : completion_of(id_, kThen);
    version = apply(id_, version, std::move(next));
    acknowledged = version;
  }
  done = true;
  readers.clear();
  EXPECT_GT(found, 0);
  EXPECT_EQ(out_of_date, 0);
}

}  // namespace
}  // namespace semel::stores
