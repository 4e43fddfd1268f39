#include "base/sha256.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace semel::base {
namespace {

std::string hex(const Sha256Digest& digest) {
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

TEST(Sha256, GivesTheDigestsOfTheStandard) {
  EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, PiecesAndTheWholeAreOne) {
  EXPECT_EQ(Sha256().update("a").update("").update("bc").finish(), sha256("abc"));
}

TEST(Sha256, SizedStringsCannotBeShiftedIntoEachOther) {
  EXPECT_EQ(Sha256().update_sized("ab").finish(), sha256(std::string("\x02\0\0\0ab", 6)));
  EXPECT_NE(Sha256().update_sized("ab").update_sized("c").finish(),
            Sha256().update_sized("a").update_sized("bc").finish());
}

TEST(Sha256, SeveralAtOnceDoNotDisturbEachOther) {
  Sha256 outer;
  outer.update("a");
  {
    Sha256 inner;
    inner.update("x");
    outer.update("b");
    EXPECT_EQ(inner.finish(), sha256("x"));
  }
  outer.update("c");
  EXPECT_EQ(outer.finish(), sha256("abc"));
}

TEST(Sha256, AnAbandonedOneLeavesNothingBehind) {
  {
    Sha256().update("left over");
  }
  EXPECT_EQ(sha256("abc"), Sha256().update("abc").finish());
}

TEST(Sha256, EveryThreadMayHash) {
  const Sha256Digest expected = sha256("abc");
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) EXPECT_EQ(sha256("abc"), expected);
    });
  }
}

}  // namespace
}  // namespace semel::base
