#include <gmock/gmock.h>

#include "relay/envelope.h"

namespace semel::relay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Message message_with(std::vector<Header> headers) {
  Message message;
  message.headers = std::move(headers);
  message.key = "the-key";
  message.enqueued_at = Time(std::chrono::milliseconds(1'700'000'000'042));
  return message;
}

config::RelayDestination events() {
  config::RelayDestination config;
  config.cloudevents.emplace();
  return config;
}

TEST(Envelope, WithoutCloudEventsEverythingIsAHeader) {
  config::RelayDestination config;
  config.headers = {{"X-Both", "config"}, {"X-Config", "1"}};
  const auto out = envelope_of(message_with({{"x-both", "own"}, {"ce-type", "t"}}), config);
  ASSERT_TRUE(out);
  EXPECT_THAT(out->attributes, IsEmpty());
  EXPECT_EQ(out->content_type, "application/json");
  EXPECT_THAT(out->headers, ElementsAre(Header{"x-both", "own"}, Header{"ce-type", "t"},
                                        Header{"X-Config", "1"}));
}

TEST(Envelope, AnEventSaysWhatItIsAndNobodyElseSaysItsId) {
  Message message = message_with({{"ce-id", "mine"}, {"CE-Type", "placed"}, {"ce_subject", "7"}});
  message.ordering_key = "ada";
  const auto out = envelope_of(message, events());
  ASSERT_TRUE(out);
  EXPECT_THAT(out->headers, IsEmpty());
  EXPECT_THAT(
      out->attributes,
      ElementsAre(Header{"specversion", "1.0"}, Header{"id", "the-key"}, Header{"type", "placed"},
                  Header{"subject", "7"}, Header{"source", "urn:semel:outbox"},
                  Header{"time", "2023-11-14T22:13:20.042Z"}, Header{"partitionkey", "ada"}));
}

TEST(Envelope, AConfiguredAttributeGivesWayToTheMessages) {
  config::RelayDestination config = events();
  config.headers = {{"ce-type", "config"}, {"ce-region", "eu"}};
  const auto out = envelope_of(message_with({{"ce_type", "own"}}), config);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->attributes[2], (Header{"type", "own"}));
  EXPECT_EQ(out->attributes[3], (Header{"region", "eu"}));
}

TEST(Envelope, WhatCannotBeSentIsSaid) {
  EXPECT_THAT(envelope_of(message_with({{"Host", "h"}}), {}).error(), HasSubstr("Host"));
  EXPECT_THAT(envelope_of(message_with({{"X", "a\nb"}}), {}).error(), HasSubstr("X"));
  config::RelayDestination broker = events();
  broker.broker.emplace();
  EXPECT_THAT(envelope_of(message_with({{"nats-rollup", "all"}}), broker).error(),
              HasSubstr("nats-rollup"));
}

TEST(Envelope, AValueOfAHeaderIsPrintable) {
  EXPECT_EQ(header_value_of("a/b"), "a/b");
  EXPECT_EQ(header_value_of("50% \"\xc3\xa4\"\n"), "50%25%20%22%C3%A4%22%0A");
}

}  // namespace
}  // namespace semel::relay
