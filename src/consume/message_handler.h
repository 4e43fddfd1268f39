#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "consume/message.h"
#include "semel/driver/engine.h"

namespace semel::consume {

// Executes the messages of one entry: at an HTTP handler, or in a function. Lives on one worker,
// and is called there.
class MessageHandler {
 public:
  // One of the entry's `in_flight` places, taken while any copy of it lives. Must be released on
  // the worker.
  using Slot = std::shared_ptr<const void>;

  virtual ~MessageHandler() = default;

  // Executes the message under the claim and records how that ended, as far as the store can be
  // reached. Only what the record says afterwards counts.
  virtual boost::asio::awaitable<void> execute(std::shared_ptr<const BrokerMessage> message,
                                               std::string key, EngineClaim claim, Slot slot) = 0;
};

}  // namespace semel::consume
