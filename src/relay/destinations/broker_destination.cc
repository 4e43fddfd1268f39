#include "relay/destinations/broker_destination.h"

#include "relay/destinations/kafka_publisher.h"
#include "relay/destinations/nats_publisher.h"
#include "relay/destinations/rabbitmq_publisher.h"

namespace semel::relay {
namespace asio = boost::asio;

namespace {

std::expected<std::unique_ptr<Publisher>, std::string> make_publisher(
    const config::RelayDestination& config) {
  switch (config.broker->kind) {
    case config::BrokerKind::rabbitmq:
      return RabbitmqPublisher::make(config.name, *config.broker);
    case config::BrokerKind::nats:
      return NatsPublisher::make(config.name, *config.broker);
    case config::BrokerKind::kafka:
      return KafkaPublisher::make(*config.broker, config.timeout);
  }
  return std::unexpected("unknown kind of broker");
}

}  // namespace

std::expected<std::unique_ptr<BrokerDestination>, std::string> BrokerDestination::make(
    config::RelayDestination config, asio::any_io_executor executor) {
  auto publisher = make_publisher(config);
  if (!publisher) return std::unexpected(std::move(publisher.error()));
  return std::unique_ptr<BrokerDestination>(
      new BrokerDestination(std::move(config), std::move(executor), *std::move(publisher)));
}

asio::awaitable<Outcome> BrokerDestination::deliver(std::shared_ptr<const Message> message) {
  auto envelope = envelope_of(*message, config_);
  if (!envelope) co_return Refused{std::move(envelope.error())};
  const auto publication =
      std::make_shared<Publication>(executor_, std::move(message), *std::move(envelope));
  publisher_->publish(publication);
  co_return co_await publication->outcome(config_.timeout);
}

}  // namespace semel::relay
