// What operators decide about records: their outcome, to forget them, to keep them for longer.
#include <gtest/gtest.h>

#include "support/key_story.h"

namespace semel::core {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using support::KeyStory;

TEST(Resolve, NeedsAReason) {
  KeyStory k;
  k.claim('a');
  k.hears_nothing('a');
  EXPECT_EQ(k.resolves({}, ""), "refused");
  EXPECT_EQ(k.state(), "unknown 1");
}

TEST(Resolve, IsRefusedWhileTheExecutionMayRun) {
  KeyStory k;
  k.claim('a');
  EXPECT_EQ(k.resolves({}), "refused");
  k.passes(seconds(31));
  k.skew = seconds(5);
  EXPECT_EQ(k.resolves({}), "refused");  // by another node's clock it may
  k.holder = Holder::running_here;
  k.passes(hours(1));
  EXPECT_EQ(k.resolves({}), "refused");  // it does
  EXPECT_EQ(k.resolves({}, "the executor is switched off", true), "done");
  EXPECT_EQ(k.state(), "released 1");
}

TEST(Resolve, IsRefusedWhileALateAnswerIsListenedFor) {
  KeyStory k;
  k.claim('a');
  k.hears_nothing('a');
  k.holder = Holder::running_here;
  EXPECT_EQ(k.resolves({}), "refused");
}

TEST(Resolve, IsRefusedWhereThereIsNothingToResolve) {
  KeyStory k;
  EXPECT_EQ(k.resolves({}), "stale");  // no such record
  k.claim('a');
  k.answers('a', 200);
  EXPECT_EQ(k.resolves({}), "refused");
}

TEST(Resolve, IsRefusedOnceTheHoldHasPassed) {
  KeyStory k;
  k.operation.hold_for = seconds(60);
  k.claim('a');
  k.hears_nothing('a');
  k.passes(seconds(60));
  EXPECT_EQ(k.resolves({}), "refused");
  EXPECT_EQ(k.resolves({}, "let it run", true), "refused");  // never executable again
  EXPECT_EQ(k.claim('b'), "expired");
}

TEST(Resolve, SaysWhoWhyAndThatItWasForced) {
  KeyStory k;
  k.claim('a');
  k.holder = Holder::running_here;
  k.resolves({}, "the executor is switched off", true);
  EXPECT_EQ(k.record->history.back().note,
            "released by operator, although it may still run: the executor is switched off");
  EXPECT_EQ(k.record->history.back().at, k.now);
  EXPECT_EQ(k.answers('a', 200), "stale");
  EXPECT_EQ(k.claim('b'), "execute");
  EXPECT_EQ(k.answers('a', 200), "stale");
}

TEST(Resolve, IsAboutOneClaimAndTouchesNoOther) {
  KeyStory k;
  k.claim('a');
  k.hears_nothing('a');
  event::Resolve release;
  release.token = KeyStory::token('a');
  release.who = "operator";
  release.why = "a did nothing";
  EXPECT_EQ(k.happens(release), "done");
  k.claim('b');
  k.hears_nothing('b');
  EXPECT_EQ(k.happens(release), "refused");  // of b it said nothing
  EXPECT_EQ(k.state(), "unknown 2");
}

TEST(Resolve, LeavesTheOldClaimStale) {
  KeyStory k;
  k.claim('a');
  k.hears_nothing('a');
  k.resolves(Answer{200, {}, "by hand", {}});
  EXPECT_EQ(k.answers('a', 200, "late"), "stale");
  EXPECT_EQ(k.record->answer.body, "by hand");
  EXPECT_EQ(k.record->reason, "completed by operator: checked the books");
  EXPECT_EQ(k.record->reason_code, ReasonCode::operator_decision);
}

event::Resolve forget_for(Duration length) {
  event::Resolve forget;
  forget.token = KeyStory::token('a');
  forget.forget_for = length;
  forget.who = "operator";
  forget.why = "erasure 17";
  return forget;
}

TEST(Forget, LeavesATombstoneForAsLongAsCachesMayHaveTheAnswer) {
  KeyStory k;
  k.claim('a');
  k.answers('a', 200, "personal");
  EXPECT_EQ(k.happens(forget_for(seconds(5))), "done");
  EXPECT_EQ(k.record->answer, Answer{});
  EXPECT_EQ(k.record->history.back().note, "forgotten by operator: erasure 17");
  k.passes(seconds(5) - Duration(1));
  EXPECT_EQ(k.claim('b'), "expired");
  k.passes(Duration(1));
  EXPECT_EQ(k.claim('b'), "execute");
  EXPECT_EQ(k.state(), "in_progress 1");
}

TEST(Forget, TheRoutesTombstoneCountsWhereItIsLonger) {
  KeyStory k;
  k.operation.tombstone = hours(1);
  k.claim('a');
  k.answers('a', 200);
  EXPECT_EQ(k.happens(forget_for(seconds(5))), "done");
  k.passes(seconds(6));
  EXPECT_EQ(k.claim('b'), "expired");
}

TEST(Forget, IsForWhatHasEnded) {
  KeyStory k;
  EXPECT_EQ(k.happens(forget_for(seconds(5))), "stale");
  k.claim('a');
  EXPECT_EQ(k.happens(forget_for(seconds(5))), "refused");
  k.hears_nothing('a');
  EXPECT_EQ(k.happens(forget_for(seconds(5))), "refused");
  EXPECT_EQ(k.state(), "unknown 1");
  k.answers('a', 200);
  event::Resolve nameless = forget_for(seconds(5));
  nameless.why.clear();
  EXPECT_EQ(k.happens(nameless), "refused");
  event::Resolve of_another = forget_for(seconds(5));
  of_another.token = KeyStory::token('b');
  EXPECT_EQ(k.happens(of_another), "refused");
  EXPECT_EQ(k.state(), "completed 1");
}

event::Resolve extend_for(Duration length) {
  event::Resolve extend;
  extend.token = KeyStory::token('a');
  extend.extend_for = length;
  extend.who = "operator";
  extend.why = "audit";
  return extend;
}

TEST(Extend, KeepsTheAnswerForThatLongFromNow) {
  KeyStory k;
  k.operation.ttl = seconds(10);
  k.operation.tombstone = seconds(3);
  k.claim('a');
  k.answers('a', 200, "kept");
  k.passes(seconds(9));
  EXPECT_EQ(k.happens(extend_for(hours(1))), "done");
  EXPECT_EQ(k.record->expires_at, k.now + hours(1));
  EXPECT_EQ(k.record->tombstone_until, k.now + hours(1) + seconds(3));
  EXPECT_EQ(k.record->history.back().note, "extended by operator: audit");
  k.passes(hours(1) - Duration(1));
  EXPECT_EQ(k.claim('b'), "replay");
  k.passes(Duration(1));
  EXPECT_EQ(k.claim('b'), "expired");
}

TEST(Extend, NeverMakesARecordExpireSooner) {
  KeyStory k;
  k.operation.ttl = seconds(10);
  k.claim('a');
  k.answers('a', 200, "kept");
  const Time expires_at = k.record->expires_at;
  k.passes(seconds(1));
  EXPECT_EQ(k.happens(extend_for(expires_at - k.now - Duration(1))), "refused");
  EXPECT_EQ(k.record->expires_at, expires_at);
  EXPECT_EQ(k.happens(extend_for(expires_at - k.now)), "done");
  EXPECT_EQ(k.record->expires_at, expires_at);
}

TEST(Extend, IsForWhatHasEndedAndHasNotExpired) {
  KeyStory k;
  k.operation.ttl = seconds(10);
  EXPECT_EQ(k.happens(extend_for(hours(1))), "stale");
  k.claim('a');
  EXPECT_EQ(k.happens(extend_for(hours(1))), "refused");
  k.hears_nothing('a');
  EXPECT_EQ(k.happens(extend_for(hours(1))), "refused");
  k.answers('a', 200);
  event::Resolve of_another = extend_for(hours(1));
  of_another.token = KeyStory::token('b');
  EXPECT_EQ(k.happens(of_another), "refused");
  k.passes(seconds(10));
  EXPECT_EQ(k.happens(extend_for(hours(1))), "refused");
}

}  // namespace
}  // namespace semel::core
