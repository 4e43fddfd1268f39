#pragma once

#include "consume/message.h"
#include "semel/consume.h"

namespace semel::consume {

// Wraps a message for a function of the program.
Message consume_message(std::shared_ptr<const BrokerMessage> message, std::string id);

}  // namespace semel::consume
