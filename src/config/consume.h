#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "config/broker.h"
#include "config/route.h"
#include "semel/key.h"
#include "semel/time.h"

namespace semel::config {

enum class MessageKeySource { property, header, pointer };
// Says which part of a message is its id.
struct MessageKeyConfig {
  MessageKeySource from = MessageKeySource::property;
  std::string name;     // of the property or header
  std::string pointer;  // from: pointer
  KeyRules rules;
};

// Where messages that cannot be processed go. Only the fields of the broker's kind are set.
struct DeadLetterConfig {
  bool reject = false;      // rabbitmq: to the queue's own dead-letter exchange
  std::string exchange;     // rabbitmq: "" is the default exchange
  std::string routing_key;  // rabbitmq
  std::string subject;      // nats
  std::string topic;        // kafka
};

// Passes the messages of one queue to one handler (`semel consume`), or to a function of a program
// (semel/consume.h), once per message id.
struct ConsumeConfig {
  BrokerConfig from;
  // The handler, and everything that decides how an attempt is made and recorded, as a route that
  // no client can request.
  RouteConfig route;
  std::string target;  // path and query of the handler
  MessageKeyConfig key;
  DeadLetterConfig dead_letter;
  std::vector<std::string> headers;  // lower case: of the message, passed on to the handler
  std::size_t in_flight = 64;        // executions at once
  std::size_t max_attempts = 20;
  Duration backoff_min = std::chrono::seconds(1);
  Duration backoff_max = std::chrono::minutes(5);

  bool is_for_function() const { return route.upstreams.empty(); }  // it has no `to`
};

}  // namespace semel::config
