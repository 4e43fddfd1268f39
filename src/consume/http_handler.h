#pragma once

#include "consume/message_handler.h"
#include "runtime/worker.h"

namespace semel::consume {

// Posts each message to the handler's URL, as the gateway executes a request that nobody waits for.
class HttpHandler final : public MessageHandler {
 public:
  HttpHandler(runtime::Worker& worker, runtime::Route route, config::ConsumeConfig config);

  boost::asio::awaitable<void> execute(std::shared_ptr<const BrokerMessage> message,
                                       std::string key, EngineClaim claim, Slot slot) override;

 private:
  runtime::Worker& worker_;
  const runtime::Route route_;
  const config::ConsumeConfig config_;
};

}  // namespace semel::consume
