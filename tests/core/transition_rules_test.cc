// Rules outside the tables: how long records are kept, what operators may do, and the traps that
// other tools fell into (DESIGN 6), by their numbers.
#include <gtest/gtest.h>

#include "support/key_story.h"

namespace semel::core {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using support::KeyStory;

TEST(Transition, ANewRecordSaysWhoHoldsItAndForHowLong) {
  KeyStory k;
  k.claim('a');
  EXPECT_EQ(k.record->token, KeyStory::token('a'));
  EXPECT_EQ(k.record->owner, (Owner{"a", 1}));
  EXPECT_EQ(k.record->lease_until, k.now + seconds(30));
  EXPECT_EQ(k.record->created_at, k.now);
  EXPECT_EQ(k.record->fingerprint, KeyStory::print("pay 10"));
  EXPECT_EQ(k.record->key, "k");
  EXPECT_EQ(due_at(*k.record), k.record->lease_until);
}

TEST(Transition, AnAnswerIsKeptForItsTtlFromCompletion) {
  KeyStory k;
  k.claim('a');
  k.passes(seconds(20));
  k.answers('a', 201, "created");
  EXPECT_EQ(k.record->result, RecordResult::succeeded);
  EXPECT_EQ(k.record->answer.body, "created");
  EXPECT_EQ(k.record->expires_at, k.now + hours(24));
  k.passes(hours(24) - milliseconds(1));
  EXPECT_EQ(k.claim('b'), "replay");
  k.passes(milliseconds(1));
  EXPECT_EQ(k.claim('b'), "execute");
  EXPECT_EQ(k.state(), "in_progress 1");
}

TEST(Transition, TtlFromCreationCountsFromTheFirstClaim) {
  KeyStory k;
  k.operation.ttl_from_creation = true;
  k.operation.ttl = minutes(10);
  k.claim('a');
  k.passes(seconds(10));
  k.fails('a');
  k.passes(seconds(10));
  k.claim('b');
  k.answers('b', 200);
  EXPECT_EQ(k.record->expires_at, KeyStory::kStart + minutes(10));
}

TEST(Transition, AFailureIsReplayedLikeASuccess) {
  KeyStory k;
  k.claim('a');
  k.answers('a', 402, "card declined");
  EXPECT_EQ(k.record->result, RecordResult::failed);
  EXPECT_EQ(k.claim('b'), "replay");
}

TEST(Transition, AReleaseAfterOnlyAuthFailuresIsKeptAMinute) {
  KeyStory k;
  k.operation.tombstone = hours(1);
  k.claim('a');
  k.fails('a', 401);
  EXPECT_EQ(k.record->expires_at, k.now + seconds(60));
  k.claim('b');
  k.fails('b', 403);
  EXPECT_EQ(k.record->expires_at, k.now + seconds(60));
  k.passes(seconds(60));
  EXPECT_EQ(k.claim('c', "another request"), "execute");  // and no tombstone shuts it out
  EXPECT_EQ(k.state(), "in_progress 1");
}

TEST(Transition, AReleaseAfterAnythingElseIsKeptForItsTtl) {
  KeyStory k;
  k.claim('a');
  k.fails('a', 503);
  EXPECT_EQ(k.record->expires_at, k.now + hours(24));
  k.claim('b');
  k.fails('b', 401);
  EXPECT_EQ(k.record->expires_at, k.now + hours(24));
}

TEST(Transition, AnUnknownAttemptEndsARowOfAuthFailures) {
  KeyStory k;
  k.operation.unknown = UnknownPolicy::retry;
  k.claim('a');
  k.fails('a', 401);
  k.claim('b');
  k.passes(seconds(31));
  k.sweep();  // b's owner is gone; b may have had its effect
  k.claim('c');
  k.fails('c', 401);
  EXPECT_EQ(k.record->expires_at, k.now + hours(24));
}

TEST(Transition, AHeldKeyBecomesATombstoneForGood) {
  KeyStory k;
  k.operation.hold_for = hours(1);
  k.claim('a');
  k.hears_nothing('a');
  EXPECT_EQ(due_at(*k.record), k.now + hours(1));
  k.passes(hours(1));
  k.sweep();
  k.passes(hours(24 * 3650));
  EXPECT_EQ(k.sweep(), "nothing");
  EXPECT_EQ(k.claim('b'), "expired");
  EXPECT_EQ(k.answers('a', 200), "stale");  // nobody may be told that this was recorded
}

TEST(Transition, PolicyFailRecordsTheAnswerThatWasSent) {
  KeyStory k;
  k.operation.unknown = UnknownPolicy::fail;
  k.claim('a');
  k.hears_nothing('a');
  EXPECT_EQ(k.record->answer.status, 504);
  EXPECT_EQ(k.claim('b'), "replay");
  // The answer that comes after all is not the one the client was given.
  EXPECT_EQ(k.answers('a', 200), "stale");
  EXPECT_EQ(k.record->answer.status, 504);
}

TEST(Transition, PolicyFailAnswersForAnOwnerThatIsGone) {
  KeyStory k;
  k.operation.unknown = UnknownPolicy::fail;
  k.claim('a');
  k.passes(seconds(31));
  EXPECT_EQ(k.claim('b'), "replay");
  EXPECT_EQ(k.record->answer.status, 502);
  EXPECT_EQ(k.claim('c'), "replay");
}

TEST(Transition, AnOutcomeIsRecordedOnce) {
  KeyStory k;
  k.claim('a');
  k.answers('a', 200, "one");
  EXPECT_EQ(k.answers('a', 200, "one"), "done");  // its reply was lost
  EXPECT_EQ(k.answers('a', 200, "two"), "stale");
  EXPECT_EQ(k.record->answer.body, "one");
}

TEST(Transition, AStreamsStatusIsWrittenBeforeItsEnd) {
  KeyStory k;
  k.claim('a');
  EXPECT_EQ(k.begins('b', 200), "stale");
  EXPECT_EQ(k.begins('a', 200), "done");
  EXPECT_EQ(k.record->status_begun, 200);
  k.hears_nothing('a');  // cut
  EXPECT_EQ(k.record->status_begun, 200);
  k.answers('a', 200);
  EXPECT_EQ(k.record->status_begun, 0);
}

TEST(Transition, TheHistoryIsShort) {
  KeyStory k;
  for (int i = 0; i < 40; ++i) {
    k.claim('a');
    k.fails('a');
  }
  EXPECT_EQ(k.record->history.size(), kHistoryEntriesMax);
  EXPECT_EQ(k.record->history.back().to, RecordState::released);
  EXPECT_EQ(k.record->history.back().attempt, 40u);
}

TEST(Trap1, ALiveClaimIsNoOrphan) {
  KeyStory k;
  k.operation.unknown = UnknownPolicy::retry;
  k.claim('a');
  k.passes(seconds(20));
  k.renews('a');
  k.passes(seconds(30));
  EXPECT_EQ(k.claim('b'), "busy");  // to the last moment of the lease
  k.passes(milliseconds(1));
  EXPECT_EQ(k.claim('b'), "execute");
}

TEST(Trap2, AnOrphanThatCompletedAfterAllIsReplayed) {
  KeyStory k;
  k.operation.unknown = UnknownPolicy::retry;
  k.claim('a');
  k.passes(minutes(5));
  k.answers('a', 200, "slow");
  EXPECT_EQ(k.claim('b'), "replay");
}

TEST(Trap3, AZombieDoesNotOverwriteTheWinner) {
  KeyStory k;
  k.operation.unknown = UnknownPolicy::retry;
  k.claim('a');
  k.passes(seconds(31));
  k.claim('b');
  EXPECT_EQ(k.answers('a', 200, "zombie"), "stale");
  EXPECT_EQ(k.renews('a'), "stale");
  k.answers('b', 200, "winner");
  EXPECT_EQ(k.answers('a', 200, "zombie"), "stale");
  EXPECT_EQ(k.record->answer.body, "winner");
}

TEST(Trap5, TheLeaseIsNotTheTtl) {
  KeyStory k;
  k.operation.ttl = seconds(1);
  k.claim('a');
  k.passes(seconds(20));
  EXPECT_EQ(k.claim('b'), "busy");  // the ttl has not even begun
  k.answers('a', 200);
  EXPECT_EQ(k.claim('b'), "replay");
  k.passes(seconds(1));
  EXPECT_EQ(k.claim('b'), "execute");
}

TEST(Trap16, NoTtlRemovesWhatRunsOrIsUnknown) {
  KeyStory k;
  k.operation.ttl = seconds(1);
  k.operation.ttl_from_creation = true;
  k.claim('a');
  k.passes(seconds(10));
  EXPECT_EQ(k.sweep(), "nothing");
  EXPECT_EQ(k.record->expires_at, kNever);
  k.passes(seconds(30));
  k.sweep();
  EXPECT_EQ(k.state(), "unknown 1");
  k.passes(hours(24 * 365));
  EXPECT_EQ(k.sweep(), "nothing");
  EXPECT_EQ(due_at(*k.record), kNever);
}

TEST(Trap21, ANewResponseVersionExecutesNothingAgainByDefault) {
  KeyStory k;
  k.claim('a');
  k.answers('a', 200);
  k.operation.response_version = "2";
  EXPECT_EQ(k.claim('b'), "version changed");
  EXPECT_EQ(k.state(), "completed 1");
}

TEST(Trap21, AnUnfinishedRecordHasNoVersionToChange) {
  KeyStory k;
  k.claim('a');
  k.operation.response_version = "2";
  EXPECT_EQ(k.claim('b'), "busy");
  k.fails('a');
  EXPECT_EQ(k.claim('b'), "execute");
  EXPECT_EQ(k.record->response_version, "2");
}

TEST(Trap21, AnEditedRecipeDoesNotRefuseAnHonestRetry) {
  KeyStory k;
  k.claim('a');
  k.answers('a', 200);
  event::Claim retry;
  retry.recipe.exclude = {"/sent_at"};  // edited since
  retry.fingerprint = KeyStory::print("under the new recipe");
  retry.compared = k.record->fingerprint;  // the same request under the record's own
  retry.token = KeyStory::token('b');
  EXPECT_EQ(k.happens(retry), "replay");
}

TEST(Trap22, OnlyTheTokenTellsWhoseTheClaimIs) {
  KeyStory k;
  k.claim('a');
  EXPECT_EQ(k.record->attempt, 1u);
  EXPECT_EQ(k.claim('b'), "busy");  // it too would be attempt 1
  EXPECT_EQ(k.answers('b', 200), "stale");
  EXPECT_EQ(k.gives_back('b'), "stale");
}

TEST(Trap22, AZombieOfAnEarlierLifeCompletesNothing) {
  KeyStory k;
  k.claim('a');
  k.answers('a', 200, "first life");
  k.passes(hours(24));
  k.sweep();
  ASSERT_EQ(k.state(), "absent");
  k.claim('b');
  ASSERT_EQ(k.record->attempt, 1u);
  EXPECT_EQ(k.answers('a', 200, "first life"), "stale");
  EXPECT_EQ(k.state(), "in_progress 1");
}

TEST(Trap33, AnExecutionInThisProcessOutranksTheClock) {
  KeyStory k;
  k.operation.unknown = UnknownPolicy::retry;
  k.claim('a');
  k.passes(hours(24 * 30));  // the clock was stepped
  k.holder = Holder::running_here;
  EXPECT_EQ(k.claim('b'), "busy");
  EXPECT_EQ(k.sweep(), "nothing");
  EXPECT_EQ(k.answers('a', 200), "done");
}

TEST(Skew, AForeignClaimIsBelievedALittleLonger) {
  KeyStory k;
  k.skew = seconds(5);
  k.claim('a');
  k.passes(seconds(35));
  EXPECT_EQ(k.claim('b'), "busy");
  EXPECT_EQ(k.sweep(), "nothing");
  k.passes(milliseconds(1));
  EXPECT_EQ(k.claim('b'), "outcome unknown");
  EXPECT_EQ(k.state(), "unknown 1");
}

// People decide about the last attempt, so they are shown the request of that one.
TEST(Described, ARecordDescribesTheRequestOfItsLastAttempt) {
  const auto claim = [](KeyStory& k, char who, const char* path) {
    event::Claim claim = k.claim_of(who, "pay 10", "");
    claim.description = {"POST", path, {{"/amount", "10"}}};
    return k.happens(claim);
  };
  KeyStory k;
  EXPECT_EQ(claim(k, 'a', "/first"), "execute");
  EXPECT_EQ(claim(k, 'b', "/busy"), "busy");
  EXPECT_EQ(k.record->description.path, "/first");
  k.fails('a');
  EXPECT_EQ(claim(k, 'b', "/second"), "execute");
  k.hears_nothing('b');
  EXPECT_EQ(k.record->description, (Description{"POST", "/second", {{"/amount", "10"}}}));
  k.resolves(Answer{201, {}, "done", {}});
  EXPECT_EQ(k.record->description, (Description{"POST", "/second", {{"/amount", "10"}}}));
}

TEST(Described, QueuedWorkIsDescribedFromTheBeginning) {
  KeyStory k;
  event::Claim claim = k.claim_of('q', "pay 10", "POST pay 10");
  claim.description = {"POST", "/later", {}};
  EXPECT_EQ(k.happens(claim), "queued");
  EXPECT_EQ(k.record->description.path, "/later");
  k.starts('a', 'q');
  EXPECT_EQ(k.record->description.path, "/later");
}

TEST(Described, ATombstoneKeepsNothingOfTheBody) {
  KeyStory k;
  k.operation.tombstone = hours(24);
  event::Claim claim = k.claim_of('a', "pay 10", "");
  claim.description = {"POST", "/charges", {{"/amount", "10"}}};
  k.happens(claim);
  k.answers('a', 201);
  k.passes(hours(24));
  k.sweep();
  ASSERT_EQ(k.state(), "tombstone 1");
  EXPECT_EQ(k.record->description, (Description{"POST", "/charges", {}}));
}

}  // namespace
}  // namespace semel::core
