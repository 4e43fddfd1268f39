#pragma once

#include <expected>
#include <string>

#include "config/config.h"
#include "consume/message.h"

namespace semel::consume {

// Returns the id of a message, under which it is executed once. The error says why it has no usable
// id.
std::expected<std::string, DeadLetter> find_message_key(const config::MessageKeyConfig& config,
                                                        const BrokerMessage& message);

}  // namespace semel::consume
