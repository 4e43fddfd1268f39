#pragma once

#include "consume/message.h"
#include "semel/consume.h"

namespace semel {

// The message as a function of the program sees it.
consume::Message consume_message(std::shared_ptr<const Message> message, std::string id);

}  // namespace semel
