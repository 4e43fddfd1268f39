#pragma once

#include "consume/message_handler.h"
#include "runtime/worker.h"
#include "semel/consume.h"

namespace semel::consume {

// Has a function of the program execute each message (semel/consume.h).
//
// A function cannot be ended. If it has not returned within `max_execution`, its outcome is unknown
// from then on; it keeps its place until it returns, and the outcome that it then returns is
// recorded after all. Under `unknown: retry` its message waits for that, so that it does not run
// twice at once.
class FunctionHandler final : public MessageHandler {
 public:
  FunctionHandler(runtime::Worker& worker, runtime::Route route, config::ConsumeConfig config,
                  AsyncHandler function);
  // Outcomes reported from now on are dropped.
  ~FunctionHandler() override;

  boost::asio::awaitable<void> execute(std::shared_ptr<const BrokerMessage> message,
                                       std::string key, EngineClaim claim, Slot slot) override;

 private:
  struct Link;
  struct Call;
  void begin(const std::shared_ptr<Call>& call, std::shared_ptr<const BrokerMessage> message,
             std::string key, const EngineClaim& claim);
  boost::asio::awaitable<void> returned(std::shared_ptr<Call> call);
  boost::asio::awaitable<void> record(EngineClaim claim, Outcome outcome);
  boost::asio::awaitable<void> record_late(std::shared_ptr<Call> call, EngineClaim claim,
                                           Slot slot);

  runtime::Worker& worker_;
  const runtime::Route route_;
  const config::ConsumeConfig config_;
  AsyncHandler function_;
  const std::shared_ptr<Link> link_;  // those who report an outcome may outlive this
};

// Returns a handler that calls `function` on `threads` threads, which are joined when its last copy
// goes.
AsyncHandler on_threads(Handler function, std::size_t threads);

}  // namespace semel::consume
