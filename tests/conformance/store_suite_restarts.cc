// Restarts: what was Applied is there for the next process, however this one ends.
#include "store_suite.h"

namespace semel::conformance {

using namespace std::chrono_literals;

// A restart shows whether features().durable is true.
TEST_P(StoreSuite, ARestartKeepsEverythingOrTheStoreSaysSo) {
  promise("A store keeps everything over a restart if and only if features().durable.");
  if (!store().features().durable) {
    apply(id_of(1), 0, claim_of(id_of(1)));
    reopen();
    EXPECT_EQ(difference(read(id_of(1)), std::nullopt), "");
    return;
  }
  const Record kept = completion_of(id_of(1), kThen + 24h);
  const Record removed = claim_of(id_of(2));
  const Version version = apply(kept.id, apply(kept.id, 0, claim_of(kept.id)), kept);
  apply(removed.id, apply(removed.id, 0, removed), std::nullopt);
  apply(id_of(3), 0, unknown_of(id_of(3), kThen));
  reopen();
  EXPECT_EQ(difference(read(kept.id), at_version(kept, version)), "");
  EXPECT_EQ(difference(read(removed.id), std::nullopt), "");
  EXPECT_EQ(sweep(kThen + 24h), std::vector{kept.id});
  expect_stats(1, kThen);
  EXPECT_NE(apply(kept.id, version, kept), version);
}

TEST_P(StoreSuite, AKillKeepsWhatWasApplied) {
  promise("If features().durable, whatever was Applied is there after the process is killed.");
  if (!store().features().durable) return;
  const Record replaced = completion_of(id_of(1), kThen + 24h);
  const Record removed = claim_of(id_of(2));
  const Version version =
      apply(replaced.id, apply(replaced.id, 0, claim_of(replaced.id)), replaced);
  apply(removed.id, apply(removed.id, 0, removed), std::nullopt);
  kill();
  EXPECT_EQ(difference(read(replaced.id), at_version(replaced, version)), "");
  EXPECT_EQ(difference(read(removed.id), std::nullopt), "");
  EXPECT_EQ(scan(10), std::vector{replaced.id});
  EXPECT_NE(apply(removed.id, 0, removed), version);
}

TEST_P(StoreSuite, AStoreThatWasKilledCanBeKilledAgain) {
  promise("If features().durable, a store that was killed goes on where it was, again and again.");
  if (!store().features().durable) return;
  Record counter = claim_of(id_of(1));
  Version version = 0;
  for (counter.attempt = 1; counter.attempt <= 4; ++counter.attempt) {
    version = apply(counter.id, version, counter);
    kill();
    EXPECT_EQ(difference(read(counter.id), at_version(counter, version)), "");
  }
}

}  // namespace semel::conformance
