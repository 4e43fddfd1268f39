#include "config/reading/relay.h"
#include "config_support.h"

namespace semel::config {
namespace {

using namespace config::test;
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
    EXPECT_FALSE(reading::may_be_given(name)) << name;
  }
  for (const char* name : {"Authorization", "Content-Type", "X-Anything"}) {
    EXPECT_TRUE(reading::may_be_given(name)) << name;
  }
}

TEST(ConfigRelay, BrokersAreReadWhole) {
  const Config config = config_of(with_relay(
      "{destinations: {r: {kind: rabbitmq, url: 'amqps://u:p@h/v', ca: f, exchange: e, "
      "routing_key: k, timeout: 3s, headers: {X-A: b}}, "
      "n: {kind: nats, url: 'nats://h', subject: a.b, cloudevents: {source: /s, type: t}}, "
      "k: {kind: kafka, brokers: 'h:1', topic: t, properties: {sasl.password: x}}}}"));
  const auto& all = config.relay->destinations;
  ASSERT_EQ(all.size(), 3u);
  for (const RelayDestination& one : all) {
    ASSERT_TRUE(one.broker) << one.name;
    ASSERT_TRUE(one.cloudevents) << one.name;
    if (one.name == "r") {
      EXPECT_EQ(one.broker->kind, BrokerKind::rabbitmq);
      EXPECT_EQ(one.broker->url, "amqps://u:p@h/v");
      EXPECT_EQ(one.broker->ca_file, "f");
      EXPECT_EQ(one.broker->exchange, "e");
      EXPECT_EQ(one.broker->routing_key, "k");
      EXPECT_EQ(one.timeout, std::chrono::seconds(3));
      EXPECT_THAT(one.headers, ElementsAre(Header{"X-A", "b"}));
      EXPECT_EQ(one.cloudevents->source, "urn:semel:outbox");
    } else if (one.name == "n") {
      EXPECT_EQ(one.broker->subject, "a.b");
      EXPECT_EQ(one.cloudevents->source, "/s");
      EXPECT_EQ(one.cloudevents->type, "t");
    } else {
      EXPECT_EQ(one.broker->brokers, "h:1");
      EXPECT_EQ(one.broker->topic, "t");
      EXPECT_EQ(one.broker->properties.size(), 1u);
    }
  }
}

TEST(ConfigRelay, WhatIsWrongWithABrokerIsSaid) {
  const auto error = [](std::string_view destination) {
    return errors_of(with_relay("{destinations: {a: {" + std::string(destination) + "}}}"));
  };
  EXPECT_THAT(error("kind: rabbitmq, url: 'amqp://h'"),
              ElementsAre(HasSubstr("a.routing_key: required")));
  EXPECT_THAT(error("kind: rabbitmq, routing_key: q"), ElementsAre(HasSubstr("a.url: required")));
  EXPECT_THAT(error("kind: rabbitmq, url: 'http://h', routing_key: q"),
              ElementsAre(HasSubstr("must begin with amqp://")));
  EXPECT_THAT(error("kind: nats, url: 'nats://h'"), ElementsAre(HasSubstr("a.subject: required")));
  EXPECT_THAT(error("kind: nats, url: 'nats://h', subject: 'a.*'"),
              ElementsAre(HasSubstr("remove spaces and wildcards")));
  EXPECT_THAT(error("kind: nats, url: 'nats://h', subject: a, topic: t"),
              ElementsAre(HasSubstr("a.topic: is not allowed with kind: nats")));
  EXPECT_THAT(error("kind: nats, url: 'nats://h', subject: a, tls: {ca: f}"),
              ElementsAre(HasSubstr("verified with ca")));
  EXPECT_THAT(error("kind: nats, url: 'nats://h', subject: a, headers: {Nats-Rollup: all}"),
              ElementsAre(HasSubstr("reserved for the NATS server")));
  EXPECT_THAT(error("kind: kafka, brokers: 'h:1'"), ElementsAre(HasSubstr("a.topic: required")));
  EXPECT_THAT(error("kind: kafka, brokers: h, topic: t, properties: {enable.idempotence: 'false'}"),
              ElementsAre(HasSubstr("is set by Semel")));
  EXPECT_THAT(error("kind: kafak, url: 'http://h'"), ElementsAre(HasSubstr("kafka")));
  EXPECT_THAT(error("url: 'http://h', ca: f"), ElementsAre(HasSubstr("set kind to rabbitmq")));
}

}  // namespace
}  // namespace semel::config
