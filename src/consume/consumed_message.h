#pragma once

#include "consume/message.h"
#include "semel/consume.h"

namespace semel {

// Wraps a message for a function of the program.
consume::Message consume_message(std::shared_ptr<const Message> message, std::string id);

}  // namespace semel
