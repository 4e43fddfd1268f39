#include "semel/driver/outcome_rules.h"

#include <gtest/gtest.h>

#include <set>

namespace semel {

static void PrintTo(OutcomeKind kind, std::ostream* out) {
  *out << to_string(kind);
}

}  // namespace semel

namespace semel::core {
namespace {

constexpr auto kFinal = OutcomeKind::final;
constexpr auto kRetry = OutcomeKind::retry;
constexpr auto kUnknown = OutcomeKind::unknown;

OutcomeKind first_attempt(const OutcomeRules& rules, int status) {
  return rules.classify(status, 1, "");
}

TEST(OutcomeRules, StandardIsTheTableOfTheSpecification) {
  const OutcomeRules rules = OutcomeRules::standard();
  const std::set<int> retry = {401, 403, 407, 408, 425, 429};
  for (int status = 200; status <= 599; ++status) {
    SCOPED_TRACE(status);
    OutcomeKind expected = kFinal;
    if (status >= 300 && status <= 399 && status != 303) expected = kRetry;
    if (retry.contains(status) || status >= 500) expected = kRetry;
    if (status == 502 || status == 504) expected = kUnknown;
    EXPECT_EQ(first_attempt(rules, status), expected);
  }
}

TEST(OutcomeRules, CautiousRetriesOnly503AmongServerErrors) {
  const OutcomeRules rules = OutcomeRules::cautious();
  for (int status = 500; status <= 599; ++status) {
    EXPECT_EQ(first_attempt(rules, status), status == 503 ? kRetry : kUnknown) << status;
  }
  for (int status = 200; status <= 499; ++status) {
    EXPECT_EQ(first_attempt(rules, status), first_attempt(OutcomeRules::standard(), status))
        << status;
  }
}

TEST(OutcomeRules, WhatIsNoFinalStatusIsUnknown) {
  for (int status : {-1, 0, 99, 100, 101, 199, 600, 999, 1'000'000}) {
    EXPECT_EQ(first_attempt(OutcomeRules::standard(), status), kUnknown) << status;
    EXPECT_EQ(OutcomeRules::standard().classify(status, 2, ""), kUnknown) << status;
  }
}

// A deduplicating executor answers a second attempt at what it has done with "conflict". Were that
// final, the client would never see the answer of the first.
TEST(OutcomeRules, ConflictInAnswerToALaterAttemptIsNotPinned) {
  for (const OutcomeRules& rules : {OutcomeRules::standard(), OutcomeRules::cautious()}) {
    for (int status : {409, 423}) {
      EXPECT_EQ(rules.classify(status, 1, ""), kFinal) << status;
      EXPECT_EQ(rules.classify(status, 2, ""), kRetry) << status;
      EXPECT_EQ(rules.classify(status, 3, ""), kRetry) << status;
    }
    EXPECT_EQ(rules.classify(422, 2, ""), kFinal);
  }
}

TEST(OutcomeRules, ConflictIsFinalWhereTheConfigurationSaysSo) {
  OutcomeRules by_status = OutcomeRules::standard();
  EXPECT_TRUE(by_status.set(kFinal, {"409"}));
  EXPECT_EQ(by_status.classify(409, 2, ""), kFinal);
  EXPECT_EQ(by_status.classify(423, 2, ""), kRetry);

  OutcomeRules by_class = OutcomeRules::standard();
  EXPECT_TRUE(by_class.set(kFinal, {"4xx"}));
  EXPECT_EQ(by_class.classify(409, 2, ""), kFinal);
}

TEST(OutcomeRules, TheExecutorsWordWinsOverEverything) {
  OutcomeRules rules = OutcomeRules::standard();
  ASSERT_TRUE(rules.set(kUnknown, {"200", "409"}));
  struct {
    int status;
    std::string_view said;
    OutcomeKind expected;
  } const cases[] = {
      {503, "final", kFinal},        {201, "retry", kRetry},
      {201, "unknown", kUnknown},    {200, "Final", kFinal},
      {200, "\t RETRY  ", kRetry},   {409, "final", kFinal},
      {999, "final", kFinal},        {201, "", kFinal},
      {201, "  ", kFinal},           {201, "maybe", kFinal},
      {201, "retry, final", kFinal}, {201, "retry;x", kFinal},
      {503, "finally", kRetry},      {503, "fina", kRetry},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(rules.classify(c.status, 2, c.said), c.expected) << c.status << " " << c.said;
  }
}

TEST(OutcomeRules, AStatusWinsOverItsClassInWhicheverOrderTheyAreListed) {
  for (bool class_first : {true, false}) {
    OutcomeRules rules = OutcomeRules::standard();
    if (class_first) EXPECT_TRUE(rules.set(kRetry, {"5xx"}));
    EXPECT_TRUE(rules.set(kUnknown, {"502", "504"}));
    if (!class_first) EXPECT_TRUE(rules.set(kRetry, {"5XX"}));
    EXPECT_EQ(first_attempt(rules, 500), kRetry);
    EXPECT_EQ(first_attempt(rules, 599), kRetry);
    EXPECT_EQ(first_attempt(rules, 502), kUnknown);
    EXPECT_EQ(first_attempt(rules, 504), kUnknown);
  }
}

TEST(OutcomeRules, UnlistedStatusesKeepTheirStandardMeaning) {
  OutcomeRules rules = OutcomeRules::standard();
  ASSERT_TRUE(rules.set(kFinal, {"500"}));
  for (int status = 200; status <= 599; ++status) {
    if (status == 500) continue;
    EXPECT_EQ(first_attempt(rules, status), first_attempt(OutcomeRules::standard(), status));
  }
  EXPECT_EQ(first_attempt(rules, 500), kFinal);
}

TEST(OutcomeRules, ABadEntryIsNamedAndChangesNothing) {
  for (const char* entry : {"", "5", "50", "5000", "6xx", "0xx", "099", "600", "5x", "x5x", "5x3",
                            "-50", "50a", " 503", "2xX"}) {
    OutcomeRules rules = OutcomeRules::standard();
    const auto set = rules.set(kFinal, {"503", entry});
    ASSERT_FALSE(set) << entry;
    EXPECT_NE(set.error().find('"' + std::string(entry) + '"'), std::string::npos) << set.error();
    EXPECT_EQ(first_attempt(rules, 503), kRetry) << entry;
  }
}

TEST(OutcomeRules, OneStatusCannotBeListedAsTwoThings) {
  OutcomeRules rules = OutcomeRules::standard();
  ASSERT_TRUE(rules.set(kFinal, {"404", "404", "2xx"}));
  EXPECT_EQ(rules.set(kRetry, {"404"}).error(), "\"404\" is listed as final and as retry");
  EXPECT_EQ(rules.set(kUnknown, {"2xx"}).error(), "\"2xx\" is listed as final and as unknown");
  EXPECT_EQ(first_attempt(rules, 404), kFinal);
}

TEST(OutcomeKind, HasTheNamesOfTheHeader) {
  EXPECT_EQ(to_string(kFinal), "final");
  EXPECT_EQ(to_string(kRetry), "retry");
  EXPECT_EQ(to_string(kUnknown), "unknown");
}

}  // namespace
}  // namespace semel::core
