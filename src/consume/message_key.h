#pragma once

#include <expected>
#include <string>

#include "config/config.h"
#include "consume/message.h"

namespace semel {

// The id of a message, by which it is done once. The error is why it has none that can be used.
std::expected<std::string, DeadLetter> find_message_key(const MessageKeyConfig& config,
                                                        const Message& message);

}  // namespace semel
