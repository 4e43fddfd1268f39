#pragma once

#include "brokers/amqp_library.h"
#include "consume/message.h"

namespace semel {

// Converts what RabbitMQ delivered. Leaves `delivery` to the caller.
Message to_message(const amqp_envelope_t& envelope);

}  // namespace semel
