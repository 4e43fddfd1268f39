// A client may be slow, but not without end.
#include "execution/answer/body_pace.h"

#include <gtest/gtest.h>

namespace semel::execution {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(ClientPace, WhoTakesPieceByPieceInTimeStillHasToBeFastEnoughAsAWhole) {
  ClientPace pace(seconds(30));
  EXPECT_EQ(pace.next(), seconds(30));
  // 100 bytes in 20 s: each in time, but 30 s and 1 s a KiB are soon used up.
  pace.passed(100, seconds(20));
  EXPECT_EQ(pace.next(), seconds(10) + milliseconds(97));
  pace.passed(100, seconds(20));
  EXPECT_EQ(pace.next(), milliseconds(1));
}

TEST(ClientPace, WhatWasTakenEarnsTimeAndOthersTimeDoesNotCount) {
  ClientPace pace(seconds(30));
  for (int i = 0; i < 1000; ++i) pace.passed(64 * 1024, seconds(29));
  EXPECT_EQ(pace.next(), seconds(30));
  ClientPace waiting(seconds(30));
  for (int i = 0; i < 1000; ++i) waiting.passed(1, seconds(0));
  EXPECT_EQ(waiting.next(), seconds(30));
}

}  // namespace
}  // namespace semel::execution
