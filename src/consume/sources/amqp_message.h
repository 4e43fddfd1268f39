#pragma once

#include "brokers/amqp_library.h"
#include "consume/message.h"

namespace semel {

// What RabbitMQ delivered. The delivery itself is left to the caller.
Message to_message(const amqp_envelope_t& envelope);

}  // namespace semel
