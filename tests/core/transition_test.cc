// Every row of the record's state table and of the admission table, as a story each.
#include "core/transition.h"

#include <gtest/gtest.h>

#include <functional>

#include "support/key_story.h"

namespace semel::core {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using support::KeyStory;

constexpr Duration kLeaseOver = seconds(30) + milliseconds(1);

// How a record comes to be in the state where a row begins.
void absent(KeyStory&) {}
void in_progress(KeyStory& k) {
  k.claim('a');
}
void orphaned(KeyStory& k) {
  in_progress(k);
  k.passes(kLeaseOver);
}
void completed(KeyStory& k) {
  in_progress(k);
  k.answers('a', 201);
}
void released(KeyStory& k) {
  in_progress(k);
  k.fails('a');
}
void unknown(KeyStory& k) {
  in_progress(k);
  k.hears_nothing('a');
}
void tombstone(KeyStory& k) {
  k.operation.tombstone = hours(24 * 7);
  completed(k);
  k.passes(hours(24));
  k.sweep();
}
void past_tombstone(KeyStory& k) {
  tombstone(k);
  k.passes(hours(24 * 7));
}

struct StateRow {
  const char* name;
  std::function<void(KeyStory&)> from;
  std::function<std::string(KeyStory&)> event;
  const char* told;
  const char* to;
};

class StateTable : public ::testing::TestWithParam<StateRow> {};

TEST_P(StateTable, Row) {
  KeyStory k;
  GetParam().from(k);
  EXPECT_EQ(GetParam().event(k), GetParam().told);
  EXPECT_EQ(k.state(), GetParam().to);
}

const StateRow kStateRows[] = {
    {"AbsentClaim", absent, [](KeyStory& k) { return k.claim('a'); }, "execute", "in_progress 1"},
    {"InProgressFinal", in_progress, [](KeyStory& k) { return k.answers('a', 200); }, "done",
     "completed 1"},
    {"InProgressDeterministicFailure", in_progress, [](KeyStory& k) { return k.answers('a', 404); },
     "done", "completed 1"},
    {"InProgressRetry", in_progress, [](KeyStory& k) { return k.fails('a'); }, "done",
     "released 1"},
    {"InProgressRetryForgotten",
     [](KeyStory& k) {
       k.operation.on_retry = OnRetry::forget;
       in_progress(k);
     },
     [](KeyStory& k) { return k.fails('a'); }, "done", "absent"},
    {"InProgressForgottenTwice",
     [](KeyStory& k) {
       k.operation.on_retry = OnRetry::forget;
       in_progress(k);
       k.fails('a');
     },
     [](KeyStory& k) { return k.fails('a'); }, "done", "absent"},
    {"InProgressNoAnswer", in_progress, [](KeyStory& k) { return k.hears_nothing('a'); }, "done",
     "unknown 1"},
    {"InProgressNoAnswerTakenAsFinal",
     [](KeyStory& k) {
       k.operation.unknown = UnknownPolicy::fail;
       in_progress(k);
     },
     [](KeyStory& k) { return k.hears_nothing('a'); }, "done", "completed 1"},
    {"InProgressOwnerGone", orphaned, [](KeyStory& k) { return k.sweep(); }, "done", "unknown 1"},
    {"InProgressEarlierRun",
     [](KeyStory& k) {
       in_progress(k);
       k.holder = Holder::gone;
     },
     [](KeyStory& k) { return k.sweep(); }, "done", "unknown 1"},
    {"InProgressAlive", in_progress, [](KeyStory& k) { return k.sweep(); }, "nothing",
     "in_progress 1"},
    {"InProgressGivenBack", in_progress, [](KeyStory& k) { return k.gives_back('a'); }, "done",
     "released 1"},
    {"InProgressGivenBackByAnother", in_progress, [](KeyStory& k) { return k.gives_back('b'); },
     "stale", "in_progress 1"},
    {"ReleasedClaim", released, [](KeyStory& k) { return k.claim('b'); }, "execute",
     "in_progress 2"},
    {"UnknownLateFinal", unknown, [](KeyStory& k) { return k.answers('a', 200); }, "done",
     "completed 1"},
    {"UnknownLateRetry", unknown, [](KeyStory& k) { return k.fails('a'); }, "done", "released 1"},
    {"UnknownStillUnknown", unknown, [](KeyStory& k) { return k.hears_nothing('a'); }, "done",
     "unknown 1"},
    {"UnknownLateFinalOfAnother", unknown, [](KeyStory& k) { return k.answers('b', 200); }, "stale",
     "unknown 1"},
    {"UnknownRetriedByPolicy",
     [](KeyStory& k) {
       k.operation.unknown = UnknownPolicy::retry;
       unknown(k);
     },
     [](KeyStory& k) { return k.claim('b'); }, "execute", "in_progress 2"},
    {"UnknownCompletedByOperator", unknown,
     [](KeyStory& k) { return k.resolves(Answer{200, {}, "by hand", {}}); }, "done", "completed 1"},
    {"UnknownReleasedByOperator", unknown, [](KeyStory& k) { return k.resolves({}); }, "done",
     "released 1"},
    {"UnknownIsKept", unknown,
     [](KeyStory& k) {
       k.passes(hours(24 * 365));
       return k.sweep();
     },
     "nothing", "unknown 1"},
    {"UnknownHoldPassed",
     [](KeyStory& k) {
       k.operation.hold_for = hours(1);
       unknown(k);
       k.passes(hours(1));
     },
     [](KeyStory& k) { return k.sweep(); }, "done", "tombstone 1"},
    {"CompletedIsKept", completed, [](KeyStory& k) { return k.sweep(); }, "nothing", "completed 1"},
    {"CompletedExpires",
     [](KeyStory& k) {
       completed(k);
       k.passes(hours(24));
     },
     [](KeyStory& k) { return k.sweep(); }, "done", "absent"},
    {"CompletedLeavesTombstone", tombstone, [](KeyStory& k) { return k.sweep(); }, "nothing",
     "tombstone 1"},
    {"TombstoneGoes", past_tombstone, [](KeyStory& k) { return k.sweep(); }, "done", "absent"},
    {"ReleasedExpires",
     [](KeyStory& k) {
       released(k);
       k.passes(hours(24));
     },
     [](KeyStory& k) { return k.sweep(); }, "done", "absent"},
};
INSTANTIATE_TEST_SUITE_P(Spec3, StateTable, ::testing::ValuesIn(kStateRows),
                         [](const auto& row) { return std::string(row.param.name); });

struct AdmissionRow {
  const char* name;
  std::function<void(KeyStory&)> found;
  const char* same;
  const char* different;
};

class AdmissionTable : public ::testing::TestWithParam<AdmissionRow> {};

TEST_P(AdmissionTable, SameFingerprint) {
  KeyStory k;
  GetParam().found(k);
  EXPECT_EQ(k.claim('b'), GetParam().same);
}

TEST_P(AdmissionTable, DifferentFingerprint) {
  KeyStory k;
  GetParam().found(k);
  const std::optional<Record> before = k.record;
  EXPECT_EQ(k.claim('b', "pay 99"), GetParam().different);
  if (std::string_view(GetParam().different) == "mismatch") {
    EXPECT_EQ(k.record, before);  // a mismatch never changes the record
    EXPECT_EQ(std::get<verdict::Mismatch>(k.told).differs, std::vector<std::string>{"body"});
  }
}

template <UnknownPolicy policy>
void orphaned_under(KeyStory& k) {
  k.operation.unknown = policy;
  orphaned(k);
}
template <UnknownPolicy policy>
void unknown_under(KeyStory& k) {
  unknown(k);
  k.operation.unknown = policy;  // the route's, at the time of the retry
}
template <OnVersionChange on_change>
void completed_in_version_1(KeyStory& k) {
  completed(k);
  k.operation.response_version = "2";
  k.operation.on_version_change = on_change;
}

const AdmissionRow kAdmissionRows[] = {
    {"None", absent, "execute", "execute"},
    {"PastTombstone", past_tombstone, "execute", "execute"},
    {"ExpiredButNotSwept",
     [](KeyStory& k) {
       completed(k);
       k.passes(hours(24));
     },
     "execute", "execute"},
    {"Tombstone", tombstone, "expired", "expired"},
    {"ExpiredIntoTombstoneButNotSwept",
     [](KeyStory& k) {
       k.operation.tombstone = hours(1);
       completed(k);
       k.passes(hours(24));
     },
     "expired", "expired"},
    {"HoldPassedButNotSwept",
     [](KeyStory& k) {
       k.operation.hold_for = hours(1);
       k.operation.unknown = UnknownPolicy::retry;
       unknown(k);
       k.passes(hours(1));
     },
     "expired", "expired"},
    {"Released", released, "execute", "mismatch"},
    {"InProgress", in_progress, "busy", "mismatch"},
    {"LeaseRanOutHold", orphaned_under<UnknownPolicy::hold>, "outcome unknown", "mismatch"},
    {"LeaseRanOutRetry", orphaned_under<UnknownPolicy::retry>, "execute", "mismatch"},
    {"LeaseRanOutFail", orphaned_under<UnknownPolicy::fail>, "replay", "mismatch"},
    {"UnknownHold", unknown_under<UnknownPolicy::hold>, "outcome unknown", "mismatch"},
    {"UnknownRetry", unknown_under<UnknownPolicy::retry>, "execute", "mismatch"},
    {"UnknownFail", unknown_under<UnknownPolicy::fail>, "replay", "mismatch"},
    {"Completed", completed, "replay", "mismatch"},
    {"VersionChangedGone", completed_in_version_1<OnVersionChange::gone>, "version changed",
     "mismatch"},
    {"VersionChangedNew", completed_in_version_1<OnVersionChange::fresh>, "execute", "mismatch"},
};
INSTANTIATE_TEST_SUITE_P(Spec4, AdmissionTable, ::testing::ValuesIn(kAdmissionRows),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace semel::core
