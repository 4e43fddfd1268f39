#include "consume/sources/make_source.h"

#include "consume/sources/kafka_source.h"
#include "consume/sources/nats_source.h"
#include "consume/sources/rabbitmq_source.h"

namespace semel {

std::expected<std::unique_ptr<Source>, std::string> make_source(const ConsumeConfig& config) {
  switch (config.from.kind) {
    case BrokerKind::rabbitmq:
      return RabbitmqSource::make(config);
    case BrokerKind::nats:
      return NatsSource::make(config);
    case BrokerKind::kafka:
      return KafkaSource::make(config);
  }
  return std::unexpected("no such kind of broker");
}

}  // namespace semel
