#pragma once

#include "brokers/amqp_library.h"
#include "consume/message.h"

namespace semel::consume {

// Converts what RabbitMQ delivered. Leaves `delivery` to the caller.
BrokerMessage to_message(const amqp_envelope_t& envelope);

}  // namespace semel::consume
