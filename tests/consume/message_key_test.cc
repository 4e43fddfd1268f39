#include "consume/message_key.h"

#include <gtest/gtest.h>

namespace semel::consume {
namespace {

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
