#include <gtest/gtest.h>

#include "base/backoff.h"
#include "consume/message_key.h"

namespace semel::consume {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Backoff, DoublesUpToTheMostAndNeverWrapsRound) {
  EXPECT_EQ(base::jittered(base::backoff_after(1, seconds(1), seconds(300)), 0), seconds(1));
  EXPECT_EQ(base::jittered(base::backoff_after(2, seconds(1), seconds(300)), 0), seconds(2));
  EXPECT_EQ(base::jittered(base::backoff_after(5, seconds(1), seconds(300)), 0), seconds(16));
  EXPECT_EQ(base::jittered(base::backoff_after(10, seconds(1), seconds(300)), 0), seconds(300));
  EXPECT_EQ(base::jittered(base::backoff_after(UINT32_MAX, seconds(1), seconds(300)), 0),
            seconds(300));
}

TEST(Backoff, ChanceTakesAwayAtMostHalf) {
  for (std::uint64_t random = 0; random < 5000; random += 7) {
    const Duration pause = base::jittered(base::backoff_after(2, seconds(1), seconds(300)), random);
    EXPECT_GE(pause, seconds(1));
    EXPECT_LE(pause, seconds(2));
  }
  EXPECT_EQ(base::jittered(base::backoff_after(1, milliseconds(1), milliseconds(1)), 12345),
            milliseconds(1));
}

BrokerMessage with_headers(std::vector<Header> headers) {
  BrokerMessage message;
  message.headers = std::move(headers);
  return message;
}

TEST(MessageKey, AHeaderIsFoundWhateverItsCase) {
  config::MessageKeyConfig config;
  config.from = config::MessageKeySource::header;
  config.name = "Message-Id";
  EXPECT_EQ(find_message_key(config, with_headers({{"message-id", "m-1"}})), "m-1");
  EXPECT_EQ(find_message_key(config, with_headers({{"Other", "m-1"}})).error().reason,
            "id-missing");
  EXPECT_EQ(find_message_key(config, with_headers({{"Message-Id", ""}})).error().reason,
            "id-missing");
}

TEST(MessageKey, TwoIdsThatDisagreeAreNone) {
  config::MessageKeyConfig config;
  config.from = config::MessageKeySource::header;
  config.name = "id";
  const auto two = [&](std::string first, std::string second) {
    return find_message_key(config,
                            with_headers({{"id", std::move(first)}, {"ID", std::move(second)}}));
  };
  EXPECT_EQ(two("a", "a"), "a");
  EXPECT_EQ(two("a", "b").error().reason, "id-invalid");
}

TEST(MessageKey, WhatIsNoKeyIsInvalid) {
  config::MessageKeyConfig config;
  config.name = "message_id";
  BrokerMessage message;
  for (const std::string& bad : {std::string(256, 'x'), std::string("a\nb"), std::string("   ")}) {
    message.properties = {{"message_id", bad}};
    EXPECT_EQ(find_message_key(config, message).error().reason, "id-invalid") << bad;
  }
}

TEST(MessageKey, APointerIntoTheBody) {
  config::MessageKeyConfig config;
  config.from = config::MessageKeySource::pointer;
  config.pointer = "/event/id";
  BrokerMessage message;
  message.body = R"({"event": {"id": "e-1"}})";
  EXPECT_EQ(find_message_key(config, message), "e-1");
  message.body = R"({"event": {"id": 7}})";
  EXPECT_EQ(find_message_key(config, message).error().reason, "id-invalid");
  message.body = R"({"event": {}})";
  EXPECT_EQ(find_message_key(config, message).error().reason, "id-missing");
  message.body = "not json";
  EXPECT_EQ(find_message_key(config, message).error().reason, "id-invalid");
  message.body = R"({"total": 123456789012345678901234567890, "event": {"id": "e-2"}})";
  EXPECT_EQ(find_message_key(config, message), "e-2");
}

TEST(DeadLetterHeaders, SayWhyAndOfWhat) {
  const std::vector<Header> headers = headers_of({.reason = "id-reused",
                                                  .detail = "Why.",
                                                  .operation = "payments",
                                                  .record = "ab",
                                                  .attempt = 3});
  EXPECT_EQ(headers, (std::vector<Header>{{"Semel-Dead-Letter", "id-reused"},
                                          {"Semel-Dead-Letter-Detail", "Why."},
                                          {"Semel-Operation", "payments"},
                                          {"Semel-Record", "ab"},
                                          {"Semel-Attempt", "3"}}));
}

}  // namespace
}  // namespace semel::consume
