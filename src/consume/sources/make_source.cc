#include "consume/sources/make_source.h"

#include "consume/sources/kafka_source.h"
#include "consume/sources/nats_source.h"
#include "consume/sources/rabbitmq_source.h"

namespace semel::consume {

std::expected<std::unique_ptr<Source>, std::string> make_source(
    const config::ConsumeConfig& config) {
  switch (config.from.kind) {
    case config::BrokerKind::rabbitmq:
      return RabbitmqSource::make(config);
    case config::BrokerKind::nats:
      return NatsSource::make(config);
    case config::BrokerKind::kafka:
      return KafkaSource::make(config);
  }
  return std::unexpected("unknown kind of broker");
}

}  // namespace semel::consume
