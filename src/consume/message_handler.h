#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "consume/message.h"
#include "semel/engine.h"

namespace semel {

// Where the messages of one entry are executed: at an HTTP handler, or in a function. It lives on
// one worker, and is called there.
class MessageHandler {
 public:
  // One of the entry's `in_flight` places, taken for as long as a copy of it lives. To be let go of
  // on the worker.
  using Slot = std::shared_ptr<const void>;

  virtual ~MessageHandler() = default;

  // Executes the message under the claim and records how that ended, as far as the store can be
  // reached. What counts is what the record then says.
  virtual boost::asio::awaitable<void> execute(std::shared_ptr<const Message> message,
                                               std::string key, Claim claim, Slot slot) = 0;
};

}  // namespace semel
