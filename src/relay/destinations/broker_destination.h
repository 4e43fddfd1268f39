#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <expected>
#include <memory>
#include <string>

#include "config/config.h"
#include "relay/delivery.h"
#include "relay/publication.h"

namespace semel::relay {

// Publishes to RabbitMQ, NATS JetStream or Kafka, each message under its derived key. A message is
// delivered when the broker says that it keeps it. A confirmation that never comes, or was lost
// with its connection, is a failed attempt: the message is published again.
class BrokerDestination final : public Destination {
 public:
  // Begins to connect. The error is a sentence for the operator: the configuration cannot be used.
  static std::expected<std::unique_ptr<BrokerDestination>, std::string> make(
      config::RelayDestination config, boost::asio::any_io_executor executor);

  boost::asio::awaitable<Outcome> deliver(std::shared_ptr<const Message> message) override;

 private:
  BrokerDestination(config::RelayDestination config, boost::asio::any_io_executor executor,
                    std::unique_ptr<Publisher> publisher)
      : config_(std::move(config)),
        executor_(std::move(executor)),
        publisher_(std::move(publisher)) {}

  const config::RelayDestination config_;
  const boost::asio::any_io_executor executor_;
  const std::unique_ptr<Publisher> publisher_;
};

}  // namespace semel::relay
