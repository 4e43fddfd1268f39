// Work that is accepted first and executed later: the rows of the table that begin or end in
// queued.
#include <gtest/gtest.h>

#include "support/key_story.h"

namespace semel::core {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using support::KeyStory;

TEST(TransitionQueued, KeepsTheRequestAndItsHandle) {
  KeyStory k;
  k.handle = KeyStory::token('h');
  EXPECT_EQ(k.queues('q'), "queued");
  EXPECT_EQ(k.state(), "queued 0");
  EXPECT_EQ(k.record->request, "POST pay 10");
  EXPECT_EQ(k.record->handle, KeyStory::token('h'));
  EXPECT_EQ(k.record->token, KeyStory::token('q'));
  EXPECT_EQ(k.record->created_at, k.now);
  EXPECT_EQ(k.record->expires_at, kNever);
}

TEST(TransitionQueued, ADuplicateIsBusyHoweverLateItIs) {
  KeyStory k;
  k.queues('q');
  EXPECT_EQ(k.claim('b'), "busy");
  EXPECT_EQ(k.queues('c'), "busy");
  k.holder = Holder::gone;
  k.passes(hours(1000));
  EXPECT_EQ(k.claim('b'), "busy");
  EXPECT_EQ(k.state(), "queued 0");
}

TEST(TransitionQueued, AnotherRequestUnderTheKeyIsAMismatch) {
  KeyStory k;
  k.queues('q');
  EXPECT_EQ(k.claim('b', "pay 99"), "mismatch");
  EXPECT_EQ(k.queues('b', "pay 99"), "mismatch");
  EXPECT_EQ(k.record->request, "POST pay 10");
}

TEST(TransitionQueued, IsStartedOnceUnderTheNextAttempt) {
  KeyStory k;
  k.queues('q');
  k.passes(seconds(100));
  EXPECT_EQ(k.starts('a', 'q'), "done");
  EXPECT_EQ(k.state(), "in_progress 1");
  EXPECT_EQ(k.record->token, KeyStory::token('a'));
  EXPECT_EQ(k.record->owner, (Owner{"a", 1}));
  EXPECT_EQ(k.record->lease_until, k.now + seconds(30));
  EXPECT_EQ(k.starts('b', 'q'), "stale");
  EXPECT_EQ(k.starts('a', 'q'), "done");  // its reply was lost
  EXPECT_EQ(k.state(), "in_progress 1");
}

TEST(TransitionQueued, IsNotStartedUnderAnotherToken) {
  KeyStory k;
  EXPECT_EQ(k.starts('a', 'q'), "stale");
  k.queues('q');
  EXPECT_EQ(k.starts('a', 'x'), "stale");
  EXPECT_EQ(k.state(), "queued 0");
}

TEST(TransitionQueued, DropsTheRequestWhenItIsDone) {
  KeyStory k;
  k.handle = KeyStory::token('h');
  k.queues('q');
  k.starts('a', 'q');
  EXPECT_EQ(k.record->request, "POST pay 10");
  EXPECT_EQ(k.answers('a', 201), "done");
  EXPECT_EQ(k.state(), "completed 1");
  EXPECT_EQ(k.record->request, "");
  EXPECT_EQ(k.record->handle, KeyStory::token('h'));
  EXPECT_EQ(k.claim('b'), "replay");
}

// A completed record may be kept in memory for long: not with the room its request took.
TEST(TransitionQueued, DropsTheRequestsMemoryAsWell) {
  Record begun;
  begun.state = RecordState::in_progress;
  begun.request = std::string(1 << 20, 'x');
  for (const OutcomeKind kind : {OutcomeKind::final, OutcomeKind::retry}) {
    const Event finish = event::Finish{begun.token, {kind, {201, {}, "done", {}}, "status"}};
    const Decision decision = transition(&begun, finish, KeyStory::kStart);
    EXPECT_LT(std::get<Put>(decision.change).next->request.capacity(), 100u);
  }
}

TEST(TransitionQueued, ARetryOutcomeReleasesItAndTheClientBringsTheRequestAgain) {
  KeyStory k;
  k.handle = KeyStory::token('h');
  k.queues('q');
  k.starts('a', 'q');
  EXPECT_EQ(k.fails('a'), "done");
  EXPECT_EQ(k.state(), "released 1");
  EXPECT_EQ(k.record->request, "");
  k.handle = KeyStory::token('i');
  EXPECT_EQ(k.queues('r'), "queued");
  EXPECT_EQ(k.state(), "queued 1");
  EXPECT_EQ(k.record->handle, KeyStory::token('h'));  // who was given it can go on using it
  EXPECT_EQ(k.starts('b', 'r'), "done");
  EXPECT_EQ(k.state(), "in_progress 2");
}

TEST(TransitionQueued, AnAbandonedExecutionIsUnknownAsUsual) {
  KeyStory k;
  k.queues('q');
  k.starts('a', 'q');
  k.passes(seconds(31));
  EXPECT_EQ(k.sweep(), "done");
  EXPECT_EQ(k.state(), "unknown 1");
  EXPECT_EQ(k.starts('b', 'q'), "stale");
  EXPECT_EQ(k.claim('c'), "outcome unknown");
  EXPECT_EQ(k.queues('c'), "outcome unknown");
  EXPECT_EQ(k.answers('a', 200), "done");
  EXPECT_EQ(k.record->request, "");
}

TEST(TransitionQueued, WhereUnknownIsRetriedItCanBeQueuedAgain) {
  KeyStory k;
  k.operation.unknown = UnknownPolicy::retry;
  k.queues('q');
  k.starts('a', 'q');
  k.hears_nothing('a');
  EXPECT_EQ(k.queues('r'), "queued");
  EXPECT_EQ(k.state(), "queued 1");
  EXPECT_EQ(k.answers('a', 200), "stale");
}

TEST(TransitionQueued, GivenBackBeforeAnythingRanItIsQueuedAgain) {
  KeyStory k;
  k.queues('q');
  k.starts('a', 'q');
  EXPECT_EQ(k.gives_back('a'), "done");
  EXPECT_EQ(k.state(), "queued 1");
  EXPECT_EQ(k.record->request, "POST pay 10");
  EXPECT_LE(due_at(*k.record), k.now);
  EXPECT_EQ(k.gives_back('a'), "done");  // its reply was lost
  EXPECT_EQ(k.answers('a', 200), "stale");
  EXPECT_EQ(k.renews('a'), "stale");
  EXPECT_EQ(k.starts('b', 'a'), "done");
  EXPECT_EQ(k.state(), "in_progress 2");
}

TEST(TransitionQueued, GivenBackAfterItWasTakenForLostItIsQueuedAgain) {
  KeyStory k;
  k.queues('q');
  k.starts('a', 'q');
  k.passes(seconds(31));
  k.sweep();
  EXPECT_EQ(k.gives_back('a'), "done");
  EXPECT_EQ(k.state(), "queued 1");
}

TEST(TransitionQueued, IsNeverSweptAwayOnlyPutOff) {
  KeyStory k;
  k.queues('q');
  EXPECT_EQ(k.sweep(), "nothing");
  for (int years = 0; years < 3; ++years) {
    k.passes(hours(24 * 365));
    EXPECT_EQ(k.sweep(), "done");
    EXPECT_EQ(k.state(), "queued 0");
    EXPECT_EQ(due_at(*k.record), k.now + KeyStory::kQueuedLease);
  }
  EXPECT_EQ(k.record->request, "POST pay 10");
  EXPECT_EQ(k.record->history.size(), 1);
}

TEST(TransitionQueued, AnExpiredKeyIsQueuedAsNew) {
  KeyStory k;
  k.claim('a');
  k.answers('a', 200);
  EXPECT_EQ(k.queues('b'), "replay");
  k.passes(hours(24));
  EXPECT_EQ(k.queues('b', "pay 99"), "queued");
  EXPECT_EQ(k.state(), "queued 0");
}

TEST(TransitionQueued, AnOperatorMayDecideAboutIt) {
  KeyStory k;
  k.queues('q');
  k.passes(hours(1));
  EXPECT_EQ(k.resolves(std::nullopt, "its route is gone"), "done");
  EXPECT_EQ(k.state(), "released 0");
  EXPECT_EQ(k.record->request, "");
  EXPECT_EQ(k.starts('a', 'q'), "stale");
}

TEST(TransitionQueued, WhatNobodyElseBringsBackIsQueuedAgainAndDueLater) {
  for (const OutcomeKind kind : {OutcomeKind::retry, OutcomeKind::unknown}) {
    KeyStory k;
    k.queues('q');
    k.starts('a', 'q');
    EXPECT_EQ(k.fails_for('a', seconds(40), kind), "done");
    EXPECT_EQ(k.state(), "queued 1");
    EXPECT_EQ(k.record->request, "POST pay 10");
    EXPECT_EQ(k.record->reason, "status 503");
    EXPECT_EQ(due_at(*k.record), k.now + seconds(40));
    EXPECT_EQ(k.fails_for('a', seconds(40), kind), "done");  // its reply was lost
    EXPECT_EQ(due_at(*k.record), k.now + seconds(40));
    EXPECT_EQ(k.queues('r'), "busy");
    EXPECT_EQ(k.renews('a'), "stale");
    EXPECT_EQ(k.starts('b', 'q'), "stale");
    EXPECT_EQ(k.starts('b', 'a'), "done");
    EXPECT_EQ(k.state(), "in_progress 2");
    EXPECT_EQ(k.record->reason, "");
    EXPECT_EQ(k.record->reason_code, ReasonCode::none);
    EXPECT_EQ(k.fails_for('a', seconds(1), kind), "stale");
    EXPECT_EQ(k.answers('b', 200), "done");
    EXPECT_EQ(k.state(), "completed 2");
  }
}

// It only matters that an attempt has ended, not whether there is a reason for it.
TEST(TransitionQueued, AnAttemptThatEndedWithoutAWordHasEnded) {
  KeyStory k;
  k.queues('q');
  k.starts('a', 'q');
  Outcome wordless{OutcomeKind::unknown, {}, "", ReasonCode::none};
  wordless.queue_again_after = seconds(40);
  EXPECT_EQ(k.finishes('a', wordless), "done");
  EXPECT_EQ(k.state(), "queued 1");
  EXPECT_EQ(k.finishes('a', wordless), "done");  // its reply was lost
  EXPECT_EQ(k.answers('a', 200), "done");
  EXPECT_EQ(k.state(), "completed 1");
}

TEST(TransitionQueued, WithoutItsRequestItCannotBeQueuedAgain) {
  KeyStory k;
  k.claim('a');
  EXPECT_EQ(k.fails_for('a', seconds(40)), "done");
  EXPECT_EQ(k.state(), "released 1");
}

TEST(TransitionQueued, WhatIsForgottenOnRetryIsQueuedAgainAllTheSame) {
  KeyStory k;
  k.operation.on_retry = OnRetry::forget;
  k.queues('q');
  k.starts('a', 'q');
  EXPECT_EQ(k.fails_for('a', seconds(1)), "done");
  EXPECT_EQ(k.state(), "queued 1");
}

TEST(TransitionQueued, ALateAnswerSparesTheNextTryUntilItHasBegun) {
  KeyStory k;
  k.queues('q');
  k.starts('a', 'q');
  k.fails_for('a', seconds(40), OutcomeKind::unknown);
  KeyStory begun = k;
  EXPECT_EQ(k.answers('a', 200), "done");
  EXPECT_EQ(k.state(), "completed 1");
  EXPECT_EQ(k.record->request, "");
  EXPECT_EQ(k.starts('b', 'a'), "stale");
  EXPECT_EQ(begun.starts('b', 'a'), "done");
  EXPECT_EQ(begun.answers('a', 200), "stale");
  EXPECT_EQ(begun.state(), "in_progress 2");
}

TEST(TransitionQueued, ALostExecutionIsTriedAgainWhereItsRouteSaysSo) {
  KeyStory k;
  k.lost_again = seconds(7);
  k.queues('q');
  k.starts('a', 'q');
  EXPECT_EQ(k.sweep(), "nothing");
  k.passes(seconds(31));
  EXPECT_EQ(k.sweep(), "done");
  EXPECT_EQ(k.state(), "queued 1");
  EXPECT_EQ(k.record->reason, "its owner is gone");
  EXPECT_EQ(k.record->reason_code, ReasonCode::other);
  EXPECT_EQ(due_at(*k.record), k.now + seconds(7));
  EXPECT_EQ(k.starts('b', 'a'), "done");
  EXPECT_EQ(k.answers('a', 200), "stale");  // the zombie
}

TEST(TransitionQueued, ALostExecutionWithoutARequestIsUnknownAllTheSame) {
  KeyStory k;
  k.lost_again = seconds(7);
  k.claim('a');
  k.passes(seconds(31));
  EXPECT_EQ(k.sweep(), "done");
  EXPECT_EQ(k.state(), "unknown 1");
}

TEST(TransitionQueued, AnOperatorWhoReleasesWhatHadBegunHasItTriedAgain) {
  KeyStory k;
  k.queues('q');
  k.starts('a', 'q');
  k.hears_nothing('a');
  EXPECT_EQ(k.state(), "unknown 1");
  EXPECT_EQ(k.resolves(std::nullopt), "done");
  EXPECT_EQ(k.state(), "queued 1");
  EXPECT_EQ(k.record->request, "POST pay 10");
  EXPECT_LE(due_at(*k.record), k.now);
  EXPECT_EQ(k.answers('a', 200), "stale");
  EXPECT_EQ(k.starts('b', '\0'), "done");
  EXPECT_EQ(k.state(), "in_progress 2");
}

TEST(TransitionQueued, AnOperatorWhoReleasesWhatWaitsForItsNextTryTakesItOut) {
  KeyStory k;
  k.queues('q');
  k.starts('a', 'q');
  k.fails_for('a', hours(1));
  EXPECT_EQ(k.resolves(std::nullopt), "done");
  EXPECT_EQ(k.state(), "released 1");
  EXPECT_EQ(k.starts('b', 'a'), "stale");
}

TEST(TransitionQueued, AClaimThatIsExecutedAtOnceHasAHandleToo) {
  KeyStory k;
  k.handle = KeyStory::token('h');
  EXPECT_EQ(k.claim('a'), "execute");
  EXPECT_EQ(k.record->handle, KeyStory::token('h'));
  EXPECT_EQ(k.record->request, "");
}

event::Resolve decides(WorkDecision work, char token, Holder holder = Holder::unsure) {
  event::Resolve decided;
  decided.holder = holder;
  decided.token = KeyStory::token(token);
  decided.work = work;
  decided.who = "operator";
  decided.why = "it is time";
  return decided;
}

TEST(WorkDecision, QueuedWorkIsDueAtOnceAndKeepsItsClaim) {
  KeyStory k;
  k.queues('q');
  k.record->lease_until = k.now + hours(1);
  EXPECT_EQ(k.happens(decides(WorkDecision::retry, 'q')), "done");
  EXPECT_EQ(k.record->lease_until, k.now);
  EXPECT_EQ(k.record->token, KeyStory::token('q'));
  EXPECT_EQ(k.record->history.back().note, "retried by operator: it is time");
  EXPECT_EQ(k.starts('a', 'q'), "done");
}

TEST(WorkDecision, QueuedWorkThatIsDroppedIsNeverStarted) {
  KeyStory k;
  k.queues('q');
  // Somebody waits here to start it.
  EXPECT_EQ(k.happens(decides(WorkDecision::drop, 'q', Holder::running_here)), "done");
  EXPECT_EQ(k.state(), "released 0");
  EXPECT_EQ(k.record->request, "");
  EXPECT_EQ(k.record->reason, "dropped by operator: it is time");
  EXPECT_EQ(k.starts('a', 'q'), "stale");
}

TEST(WorkDecision, WorkThatIsNoLongerTriedRunsAgainOrEnds) {
  for (const WorkDecision decision : {WorkDecision::retry, WorkDecision::drop}) {
    KeyStory k;
    k.queues('q');
    k.starts('a', 'q');
    EXPECT_EQ(k.happens(decides(decision, 'a')), "refused");  // it runs
    k.hears_nothing('a');
    EXPECT_EQ(k.state(), "unknown 1");
    // Its answer is still listened for.
    EXPECT_EQ(k.happens(decides(decision, 'a', Holder::running_here)), "refused");
    EXPECT_EQ(k.happens(decides(decision, 'b')), "refused");  // of another claim
    EXPECT_EQ(k.happens(decides(decision, 'a')), "done");
    EXPECT_EQ(k.state(), decision == WorkDecision::retry ? "queued 1" : "released 1");
    EXPECT_EQ(k.answers('a', 200), "stale");
  }
}

TEST(WorkDecision, IsForRecordsThatKeepARequest) {
  KeyStory k;
  k.claim('a');
  k.hears_nothing('a');
  EXPECT_EQ(k.happens(decides(WorkDecision::retry, 'a')), "refused");
  EXPECT_EQ(k.happens(decides(WorkDecision::drop, 'a')), "refused");
  EXPECT_EQ(k.state(), "unknown 1");
}

}  // namespace
}  // namespace semel::core
