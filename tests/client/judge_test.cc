#include "client/judge.h"

#include <gtest/gtest.h>

namespace semel::client {
namespace {

using std::chrono::seconds;

const Time kNow = Time(seconds(784111777));  // Sun, 06 Nov 1994 08:49:37 GMT

Answer problem(int status, const std::string& code, std::vector<Header> headers = {}) {
  return {status, std::move(headers), code.empty() ? "" : R"({"code":")" + code + R"("})"};
}

Next next_of(const Answer& answer, const char* method = "POST", bool key = true) {
  return judge(answer, {method, key}, kNow).next;
}

TEST(Judge, RetriesWhatMayPass) {
  for (const int status : {408, 409, 425, 429, 500, 502, 503, 504}) {
    EXPECT_EQ(next_of(problem(status, "")), Next::again) << status;
  }
  for (const int status : {200, 201, 202, 204, 301, 307, 401, 403, 404, 405, 413, 418, 501, 505}) {
    EXPECT_EQ(next_of(problem(status, "")), Next::ends) << status;
  }
  for (const int status : {400, 410, 422}) {
    EXPECT_EQ(next_of(problem(status, "")), Next::refused) << status;
  }
}

TEST(Judge, ReadsTheCodeInEveryShape) {
  for (const char* body : {R"({"code":"outcome-unknown"})", R"({"error":"outcome-unknown"})",
                           R"({"error":{"code":"outcome-unknown","type":"idempotency_error"}})"}) {
    EXPECT_EQ(next_of({409, {}, body}), Next::unknown) << body;
  }
  EXPECT_EQ(next_of(problem(409, "key-reused")), Next::refused);
  EXPECT_EQ(next_of({409, {}, R"({"error":{"type":"idempotency_error"}})"}), Next::refused);
  EXPECT_EQ(next_of(problem(503, "outcome-unknown")), Next::unknown);
  EXPECT_EQ(next_of(problem(200, "outcome-unknown")), Next::ends);  // the service's own word
  EXPECT_EQ(next_of({409, {}, "{\"code\":"}), Next::again);
}

TEST(Judge, KnowsWhenTheServerIsAtIt) {
  const auto in_progress = [](const Answer& answer) {
    return judge(answer, {"POST", true}, kNow).in_progress;
  };
  EXPECT_TRUE(in_progress(problem(409, "in-progress")));
  EXPECT_TRUE(in_progress({409, {}, R"({"error":{"code":"idempotency_key_in_use"}})"}));
  EXPECT_TRUE(in_progress(problem(409, "", {{"retry-after", "1"}})));
  EXPECT_FALSE(in_progress(problem(409, "name-taken")));
}

TEST(Judge, TheServersHintWins) {
  EXPECT_EQ(next_of(problem(409, "", {{"Stripe-Should-Retry", "false"}})), Next::ends);
  EXPECT_EQ(next_of(problem(503, "", {{"Stripe-Should-Retry", "false"}})), Next::ends);
  EXPECT_EQ(next_of(problem(402, "", {{"Stripe-Should-Retry", "true"}})), Next::again);
}

TEST(Judge, AKeptAnswerStaysWhatItIs) {
  for (const char* name : {"Idempotency-Replayed", "Idempotent-Replayed"}) {
    const auto judged = judge(problem(500, "", {{name, "true"}}), {"POST", true}, kNow);
    EXPECT_TRUE(judged.replayed);
    EXPECT_EQ(judged.next, Next::ends);
  }
}

TEST(Judge, WithoutAKeyOnlyIdempotentMethodsAreRepeated) {
  for (const char* method : {"GET", "HEAD", "OPTIONS", "PUT", "DELETE"}) {
    EXPECT_EQ(next_of(problem(503, ""), method, false), Next::again) << method;
  }
  for (const char* method : {"POST", "PATCH", "LOCK"}) {
    EXPECT_EQ(next_of(problem(503, ""), method, false), Next::ends) << method;
    EXPECT_EQ(next_of(problem(504, ""), method, false), Next::unknown) << method;
  }
}

TEST(Judge, AKeyThatDoesNotProtectIsNone) {
  const std::vector<Header> degraded = {{"Idempotency-Degraded", "true"}};
  EXPECT_EQ(next_of(problem(503, "", degraded)), Next::ends);
  EXPECT_EQ(next_of(problem(502, "", degraded)), Next::unknown);
  EXPECT_EQ(next_of(problem(503, "", degraded), "PUT"), Next::again);
}

TEST(Judge, ADateCountsFromTheServersOwnClock) {
  const Answer answer = problem(503, "",
                                {{"Date", "Sun, 06 Nov 1994 10:00:00 GMT"},
                                 {"Retry-After", "Sun, 06 Nov 1994 10:00:07 GMT"}});
  EXPECT_EQ(judge(answer, {"POST", true}, kNow).retry_after, seconds(7));
  const Answer without = problem(503, "", {{"Retry-After", "Sun, 06 Nov 1994 08:49:40 GMT"}});
  EXPECT_EQ(judge(without, {"POST", true}, kNow).retry_after, seconds(3));
  EXPECT_EQ(judge(problem(503, "", {{"Retry-After", "soon"}}), {"POST", true}, kNow).retry_after,
            std::nullopt);
}

TEST(Judge, ANewKeyIsSafeOnlyIfTheServerSaysSo) {
  EXPECT_FALSE(judge(problem(422, "key-reused"), {"POST", true}, kNow).new_key_safe);
  const Answer safe{422, {}, R"({"code":"key-reused","new_key_safe":true})"};
  EXPECT_TRUE(judge(safe, {"POST", true}, kNow).new_key_safe);
  const Answer nested{422, {}, R"({"error":{"code":"key-reused","new_key_safe":true}})"};
  EXPECT_TRUE(judge(nested, {"POST", true}, kNow).new_key_safe);
}

}  // namespace
}  // namespace semel::client
