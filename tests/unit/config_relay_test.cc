#include "gateway/config_relay.h"
#include "config_support.h"

namespace semel {
namespace {

using namespace config_test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string with_relay(std::string_view relay) {
  return "store: {kind: postgres, url: 'postgresql://a/b'}\nrelay: " + std::string(relay) + "\n";
}

TEST(ConfigRelay, HasDefaults) {
  const Config config = config_of(with_relay("{destinations: {a: {url: 'https://h/in?x=1'}}}"));
  ASSERT_TRUE(config.relay);
  const RelayConfig& relay = *config.relay;
  ASSERT_EQ(relay.destinations.size(), 1u);
  EXPECT_EQ(relay.destinations[0].name, "a");
  EXPECT_TRUE(relay.destinations[0].url.tls);
  EXPECT_EQ(relay.destinations[0].url.target, "/in?x=1");
  EXPECT_EQ(relay.destinations[0].timeout, std::chrono::seconds(10));
  EXPECT_FALSE(relay.allow_urls);
  EXPECT_EQ(relay.max_attempts, 20u);
  EXPECT_EQ(relay.backoff_min, std::chrono::milliseconds(500));
  EXPECT_EQ(relay.backoff_max, std::chrono::minutes(5));
  EXPECT_EQ(relay.lease, std::chrono::seconds(30));
  EXPECT_EQ(relay.parallel, 16u);
  EXPECT_EQ(relay.on_dead, OnDead::skip);
  EXPECT_FALSE(config_of(with_top("")).relay);
}

TEST(ConfigRelay, IsReadWhole) {
  const Config config = config_of(with_relay(
      "{destinations: {a: {url: 'http://h', timeout: 2s, headers: {X-A: b}, tls: {ca: f}}}, "
      "allow_urls: true, max_attempts: 3, backoff: {min: 1s, max: 1m}, lease: 5s, parallel: 2, "
      "on_dead: block}"));
  const RelayConfig& relay = *config.relay;
  EXPECT_THAT(relay.destinations[0].headers, ElementsAre(Header{"X-A", "b"}));
  EXPECT_EQ(relay.destinations[0].timeout, std::chrono::seconds(2));
  EXPECT_EQ(relay.destinations[0].tls.ca, "f");
  EXPECT_TRUE(relay.allow_urls);
  EXPECT_EQ(relay.max_attempts, 3u);
  EXPECT_EQ(relay.backoff_min, std::chrono::seconds(1));
  EXPECT_EQ(relay.backoff_max, std::chrono::minutes(1));
  EXPECT_EQ(relay.lease, std::chrono::seconds(5));
  EXPECT_EQ(relay.parallel, 2u);
  EXPECT_EQ(relay.on_dead, OnDead::block);
}

TEST(ConfigRelay, NeedsAStoreThatHasAnOutbox) {
  EXPECT_THAT(errors_of("relay: {allow_urls: true}\n"), ElementsAre(HasSubstr("kind: postgres")));
}

TEST(ConfigRelay, WhatIsWrongIsSaid) {
  const auto error = [](std::string_view relay) { return errors_of(with_relay(relay)); };
  EXPECT_THAT(error("{}"), ElementsAre(HasSubstr("relay.destinations: required")));
  EXPECT_THAT(error("{destinations: {a: {}}}"), ElementsAre(HasSubstr("a.url: required")));
  EXPECT_THAT(error("{destinations: {a: {url: ftp://x}}}"), ElementsAre(HasSubstr("not a URL")));
  EXPECT_THAT(error("{destinations: {a: {url: http://x, headers: {Idempotency-Key: a}}}}"),
              ElementsAre(HasSubstr("Idempotency-Key")));
  EXPECT_THAT(error("{destinations: {a: {url: http://x, headers: {'X Y': a}}}}"),
              ElementsAre(HasSubstr("X Y")));
  EXPECT_THAT(error("{destinations: {a: {url: http://x, headers: {X: \"a\\r\\nY: b\"}}}}"),
              ElementsAre(HasSubstr("printable")));
  EXPECT_THAT(error("{allow_urls: true, backoff: {min: 10m}}"),
              ElementsAre(HasSubstr("min is longer than max")));
  EXPECT_THAT(error("{allow_urls: true, on_dead: stop}"), ElementsAre(HasSubstr("on_dead")));
  EXPECT_THAT(error("{allow_urls: true, max_attempt: 3}"),
              ElementsAre(HasSubstr("did you mean 'max_attempts'")));
}

TEST(ConfigRelay, ADeliveryIsNotGivenHeadersOfTheConnection) {
  for (const char* name : {"host", "Content-Length", "TRANSFER-ENCODING", "Proxy-Authorization",
                           "idempotency-key", "X Y", ""}) {
    EXPECT_FALSE(config_file::may_be_given(name)) << name;
  }
  for (const char* name : {"Authorization", "Content-Type", "X-Anything"}) {
    EXPECT_TRUE(config_file::may_be_given(name)) << name;
  }
}

}  // namespace
}  // namespace semel
