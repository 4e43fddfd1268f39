// An operation that had another name: what was done under it is not done again.
#include <gtest/gtest.h>

#include "semel/driver/engine.h"
#include "support/engine_bench.h"

namespace semel::engine {
namespace {

using namespace support;
using std::chrono::hours;

class EngineRenamesTest : public ::testing::Test, public EngineBench {
 protected:
  // As asked after the rename.
  Call renamed(const std::string& key, std::string_view payload = "pay 10") {
    Call again = call(key, payload);
    again.scope.operation = "new name";
    again.former_operations = {"operation", "even older"};
    return again;
  }
  std::optional<Record> new_record(const std::string& key) {
    return store.model().read(make_id({"test", "tenant", "new name"}, key));
  }
  EngineClaim claim_renamed(Engine& engine, const std::string& key) {
    return hold(std::get<admission::Execute>(run(engine.admit(renamed(key)))).claim);
  }
  template <typename Kind>
  Kind admitted(Call request) {
    return std::get<Kind>(run(a.admit(std::move(request))));
  }

  Engine& a = add_engine("a");
};

TEST_F(EngineRenamesTest, WhatWasDoneUnderTheOldNameIsReplayed) {
  run(a.finish(claim(a, "k"), final_outcome("paid")));
  EXPECT_EQ(admitted<admission::Replay>(renamed("k")).record->answer.body, "paid");
  EXPECT_EQ(admitted<admission::Mismatch>(renamed("k", "pay 11")).differs.size(), 1u);
  EXPECT_FALSE(new_record("k"));
}

TEST_F(EngineRenamesTest, EveryOldNameIsLookedUp) {
  scope.operation = "even older";
  run(a.finish(claim(a, "k"), final_outcome("paid")));
  EXPECT_EQ(admitted<admission::Replay>(renamed("k")).record->answer.body, "paid");
}

TEST_F(EngineRenamesTest, WhatIsNewBeginsUnderTheNewName) {
  run(a.finish(claim_renamed(a, "k"), final_outcome("paid")));
  EXPECT_FALSE(record("k"));
  EXPECT_EQ(new_record("k")->operation, "new name");
  EXPECT_EQ(admitted<admission::Replay>(renamed("k")).record->answer.body, "paid");
}

TEST_F(EngineRenamesTest, WhatRunsUnderTheOldNameIsBusyAndFinishesThere) {
  const EngineClaim running = claim(a, "k");
  EXPECT_EQ(admitted<admission::Busy>(renamed("k")).record->token, running.record->token);
  Later<Waited> waits = start(a.wait(running.record->id, running.record->token, hours(1)));
  run(a.finish(running, final_outcome("paid")));
  time.run_ready();
  EXPECT_TRUE(waits.done());
  admitted<admission::Replay>(renamed("k"));
}

TEST_F(EngineRenamesTest, WhatIsUnknownUnderTheOldNameIsNotRunAgain) {
  run(a.finish(claim(a, "k"), unknown_outcome()));
  admitted<admission::OutcomeUnknown>(renamed("k"));
  EXPECT_FALSE(new_record("k"));
}

TEST_F(EngineRenamesTest, WhatWasReleasedIsTheNextAttemptOfTheSameRecord) {
  run(a.finish(claim(a, "k"), retry_outcome()));
  admitted<admission::Mismatch>(renamed("k", "pay 11"));
  const EngineClaim second = claim_renamed(a, "k");
  EXPECT_EQ(second.record->attempt, 2u);
  EXPECT_EQ(second.record->id, id_of("k"));
  admitted<admission::Busy>(renamed("k"));
  run(a.finish(second, final_outcome("paid")));
  EXPECT_EQ(state("k"), RecordState::completed);
}

TEST_F(EngineRenamesTest, WhatHasExpiredUnderTheOldNameIsNewUnderTheNewOne) {
  operation.ttl = hours(1);
  run(a.finish(claim(a, "k"), final_outcome("paid")));
  time.run_for(hours(2));
  claim_renamed(a, "k");
  EXPECT_TRUE(new_record("k"));
  admitted<admission::Busy>(renamed("k"));  // the new one decides, whatever is left of the old
}

TEST_F(EngineRenamesTest, ATombstoneUnderTheOldNameStillSaysGone) {
  operation.ttl = hours(1);
  operation.tombstone = hours(24);
  run(a.finish(claim(a, "k"), final_outcome("paid")));
  time.run_for(hours(2));
  admitted<admission::Expired>(renamed("k"));
}

TEST_F(EngineRenamesTest, ABumpedVersionIsGoneUnderTheOldNameToo) {
  run(a.finish(claim(a, "k"), final_outcome("paid")));
  operation.response_version = "2";
  admitted<admission::VersionChanged>(renamed("k"));
  operation.on_version_change = OnVersionChange::fresh;
  const EngineClaim fresh = claim_renamed(a, "k");
  EXPECT_EQ(fresh.record->operation, "new name");
  run(a.finish(fresh, final_outcome("paid, in the new form")));
  EXPECT_EQ(admitted<admission::Replay>(renamed("k")).record->answer.body, "paid, in the new form");
}

TEST_F(EngineRenamesTest, AClaimUnderTheOldNameThatIsBeingWrittenHereIsNotMissed) {
  Later<Admission> old_one = start(a.admit(call("k")));     // entered, not in the store yet
  Later<Admission> new_one = start(a.admit(renamed("k")));  // its look at the store crosses it
  for (int ms = 0; ms < 100; ++ms) time.run_for(Duration(1));
  EXPECT_TRUE(std::holds_alternative<admission::Execute>(old_one.value()));
  EXPECT_TRUE(std::holds_alternative<admission::Busy>(new_one.value()));
}

TEST_F(EngineRenamesTest, AClaimUnderTheOldNameThatHasNotReachedTheStoreYetIsWaitedFor) {
  store.next_swaps({PlainStore::Fault::lost_write});
  Later<Admission> old_one = start(a.admit(call("k")));
  time.run_for(Duration(2));  // its first write is lost, and the next one not yet sent
  ASSERT_FALSE(record("k"));
  Later<Admission> new_one = start(a.admit(renamed("k")));
  for (int ms = 0; ms < 100; ++ms) time.run_for(Duration(1));
  EXPECT_TRUE(std::holds_alternative<admission::Execute>(old_one.value()));
  EXPECT_TRUE(std::holds_alternative<admission::Busy>(new_one.value()));
  EXPECT_FALSE(new_record("k"));
}

TEST_F(EngineRenamesTest, OfAHundredAtOnceOneExecutes) {
  run(a.finish(claim(a, "k"), retry_outcome()));
  Engine& b = add_engine("b");
  std::vector<Later<Admission>> all;
  for (int i = 0; i < 50; ++i) {
    all.push_back(start(a.admit(renamed("k"))));
    all.push_back(start(b.admit(renamed("k"))));
  }
  for (int ms = 0; ms < 1000; ++ms) time.run_for(Duration(1));
  int executed = 0;
  for (const auto& one : all) executed += std::holds_alternative<admission::Execute>(one.value());
  EXPECT_EQ(executed, 1);
}

TEST_F(EngineRenamesTest, ANewKeyCostsOneReadPerOldNameAndNothingElse) {
  run(a.finish(claim_renamed(a, "k"), final_outcome("paid")));
  EXPECT_EQ(store.swaps(), 2);
  EXPECT_EQ(store.reads(), 2);
}

TEST_F(EngineRenamesTest, AStoreThatCannotBeReadAdmitsNothing) {
  run(a.finish(claim(a, "k"), final_outcome("paid")));
  store.set_down(true);
  admitted<StoreUnavailable>(renamed("k"));
  store.set_down(false);
  EXPECT_FALSE(new_record("k"));
}

}  // namespace
}  // namespace semel::engine
