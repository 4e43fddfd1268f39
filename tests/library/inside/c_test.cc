// semel/c.h where a program uses it badly: nothing crashes, and nothing counts that should not.
#include <semel/c.h>

#include "library/inside/stores.h"

namespace semel {
namespace {

semel_claim* begun_by_c(semel_engine* engine, const std::string& key) {
  semel_call call{};
  call.size = sizeof call;
  call.operation = "provision";
  call.key = key.c_str();
  semel_claim* claim = nullptr;
  semel_result* result = nullptr;
  EXPECT_EQ(semel_begin(engine, &call, &claim, &result), SEMEL_EXECUTED);
  semel_result_free(result);
  return claim;
}

TEST(C, AClaimThatOutlivesItsEngineIsUnknown) {
  const Folder folder;
  const std::string key = new_key();
  semel_engine* engine = semel_open(folder.url().c_str(), nullptr, 0);
  ASSERT_NE(engine, nullptr);
  semel_claim* finished = begun_by_c(engine, key);
  semel_claim* released = begun_by_c(engine, new_key());
  semel_claim* left = begun_by_c(engine, new_key());
  semel_close(engine);
  EXPECT_EQ(semel_attempt(finished), 1u);
  semel_result* result = nullptr;
  EXPECT_EQ(semel_finish(finished, 200, "x", 1, &result), SEMEL_UNKNOWN);
  EXPECT_NE(std::string(semel_why(result)).find("closed"), std::string::npos);
  semel_result_free(result);
  EXPECT_EQ(semel_release(released, "no capacity"), SEMEL_UNKNOWN);
  EXPECT_EQ(semel_leave(left, "no answer"), SEMEL_UNKNOWN);
  Engine next = open(folder.url());
  EXPECT_EQ(next.begin({"provision"}, {key}).verdict, Verdict::unknown);
}

TEST(C, WithoutAnEngineAClaimOrAResultItIsInvalid) {
  semel_call call{};
  call.size = sizeof call;
  semel_claim* claim = nullptr;
  semel_result* result = nullptr;
  EXPECT_EQ(semel_begin(nullptr, &call, &claim, &result), SEMEL_INVALID);
  EXPECT_NE(std::string(semel_why(result)), "");
  semel_result_free(result);
  EXPECT_EQ(semel_finish(nullptr, 200, "", 0, &result), SEMEL_INVALID);
  EXPECT_NE(std::string(semel_why(result)), "");
  semel_result_free(result);
  EXPECT_EQ(semel_leave(nullptr, "x"), SEMEL_INVALID);
  std::size_t size = 1;
  EXPECT_NE(semel_body(nullptr, &size), nullptr);
  EXPECT_EQ(size, 0u);
  EXPECT_EQ(semel_status(nullptr), 0);
  EXPECT_NE(std::string(semel_why(nullptr)), "");
  semel_result_free(nullptr);
  semel_close(nullptr);
}

}  // namespace
}  // namespace semel
