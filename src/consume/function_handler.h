#pragma once

#include "consume/message_handler.h"
#include "runtime/worker.h"
#include "semel/consume.h"

namespace semel {

// Has a function of the program execute each message (semel/consume.h).
//
// A function cannot be ended. One that has not returned within `max_execution` is unknown from then
// on; it keeps its place until it returns, and what it then says is recorded after all. Under
// `unknown: retry` its message waits for that, rather than run beside itself.
class FunctionHandler final : public MessageHandler {
 public:
  FunctionHandler(Worker& worker, Route route, ConsumeConfig config,
                  consume::AsyncHandler function);
  // What is told from now on is dropped.
  ~FunctionHandler() override;

  boost::asio::awaitable<void> execute(std::shared_ptr<const Message> message, std::string key,
                                       Claim claim, Slot slot) override;

 private:
  struct Link;
  struct Call;
  void begin(const std::shared_ptr<Call>& call, std::shared_ptr<const Message> message,
             std::string key, const Claim& claim);
  boost::asio::awaitable<void> returned(std::shared_ptr<Call> call);
  boost::asio::awaitable<void> record(Claim claim, Outcome outcome);
  boost::asio::awaitable<void> record_late(std::shared_ptr<Call> call, Claim claim, Slot slot);

  Worker& worker_;
  const Route route_;
  const ConsumeConfig config_;
  consume::AsyncHandler function_;
  const std::shared_ptr<Link> link_;  // what tells of an outcome may outlive this
};

// Calls `function` on `threads` threads. They are joined when the last copy goes.
consume::AsyncHandler on_threads(consume::Handler function, std::size_t threads);

}  // namespace semel
