#include "check/witness.h"

#include <gtest/gtest.h>

namespace semel::check {
namespace {

Answer answer_with(std::string body, std::string location = "") {
  Answer answer;
  answer.status = 201;
  answer.body = std::move(body);
  if (!location.empty()) answer.fields.push_back({"Location", location});
  return answer;
}

using Places = std::vector<std::string>;

TEST(Witness, DiffersBetweenExecutionsAndNotInARetry) {
  const auto first = answer_with(R"({"id":"a","amount":5,"at":1,"seen":7})", "/a");
  const auto second = answer_with(R"({"id":"b","amount":5,"at":1,"seen":8})", "/b");
  const auto retry = answer_with(R"({"id":"a","amount":5,"at":1,"seen":9})", "/a");
  const Witness witness(first, "key", second, retry);
  EXPECT_EQ(witness.places(), (Places{"/id", "Location"}));
  EXPECT_TRUE(witness.same(first, retry));
  EXPECT_FALSE(witness.same(first, second));
  EXPECT_EQ(witness.of(second), "b, /b");
}

TEST(Witness, IsPresumedByNameIfEvenARetryDiffers) {
  const auto one = [](int i) {
    const auto n = std::to_string(i);
    return answer_with(R"({"order":{"orderId":")" + n + R"("},"request_id":")" + n +
                       R"(","elapsed":)" + n + "}");
  };
  EXPECT_EQ(Witness(one(1), "key", one(2), one(3)).places(), Places{"/order/orderId"});
}

TEST(Witness, IsNeverTheEchoOfTheKey) {
  const auto one = [](std::string key, std::string id) {
    return answer_with(R"({"idempotency_key":")" + key + R"(","id":")" + id + R"("})");
  };
  const Witness witness(one("k-1", "a"), "k-1", one("k-2", "b"), one("k-1", "c"));
  EXPECT_EQ(witness.places(), Places{"/id"}) << "the retry was executed, whatever it echoes";
}

TEST(Witness, ComparesWhatTwoAnswersHaveInCommon) {
  const Witness witness(answer_with(R"({"id":"a"})", "/a"), "key",
                        answer_with(R"({"id":"b"})", "/b"), answer_with(R"({"id":"a"})", "/a"));
  EXPECT_TRUE(witness.same(answer_with(R"({"id":"a"})"), answer_with(R"({"id":"a"})", "/a")));
  EXPECT_FALSE(witness.same(answer_with(R"({"id":"a"})"), answer_with("", "/a"))) << "nothing";
  EXPECT_EQ(witness.of(answer_with("{}")), "");
}

TEST(Witness, IsTheWholeBodyIfItIsNoJson) {
  const Witness witness(answer_with("made 1"), "key", answer_with("made 2"), answer_with("made 1"));
  EXPECT_EQ(witness.places(), Places{"body"});
  EXPECT_FALSE(Witness(answer_with("ok"), "key", answer_with("ok"), answer_with("ok")).known());
}

}  // namespace
}  // namespace semel::check
