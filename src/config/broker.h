#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "semel/time.h"

namespace semel::config {

enum class BrokerKind { rabbitmq, nats, kafka };
// How to reach a broker.
struct BrokerAddress {
  BrokerKind kind = BrokerKind::rabbitmq;
  std::string url;                                              // rabbitmq, nats
  std::string ca_file;                                          // rabbitmq, nats: "": the system's
  std::string brokers;                                          // kafka: host:port, …
  std::vector<std::pair<std::string, std::string>> properties;  // kafka: of librdkafka
};

// Where a broker puts messages. Only the fields of its kind are set.
struct BrokerTarget : BrokerAddress {
  std::string exchange;     // rabbitmq: "" is the default exchange
  std::string routing_key;  // rabbitmq
  std::string subject;      // nats
  std::string topic;        // kafka
};

// Where messages come from.
struct BrokerConfig : BrokerAddress {
  std::string queue;                             // rabbitmq
  std::string stream;                            // nats
  std::string consumer;                          // nats: its durable name
  Duration ack_wait = std::chrono::seconds(30);  // nats
  std::string topic;                             // kafka
  std::string group;                             // kafka
  std::size_t prefetch = 256;                    // messages held here that are not acknowledged
};

}  // namespace semel::config
