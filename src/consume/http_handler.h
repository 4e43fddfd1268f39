#pragma once

#include "consume/message_handler.h"
#include "runtime/worker.h"

namespace semel {

// Posts each message to the handler's URL, as the gateway executes a request that nobody waits for.
class HttpHandler final : public MessageHandler {
 public:
  HttpHandler(Worker& worker, Route route, ConsumeConfig config);

  boost::asio::awaitable<void> execute(std::shared_ptr<const Message> message, std::string key,
                                       Claim claim, Slot slot) override;

 private:
  Worker& worker_;
  const Route route_;
  const ConsumeConfig config_;
};

}  // namespace semel
