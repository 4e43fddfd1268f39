#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "brokers/commands.h"
#include "consume/sources/source.h"

namespace semel::consume {

// A source with threads of its own, to which it passes on what others ask for. The destructor of a
// subclass calls stop(), before anything that the threads use is gone.
class ThreadedSource : public Source {
 public:
  void start(Callbacks callbacks) final;
  bool is_current(const DeliveryId& delivery) const override {
    return delivery.connection == connection_number_;
  }
  void ack(const DeliveryId& delivery) final;
  void give_back(const DeliveryId& delivery) override;
  void dead_letter(std::shared_ptr<const BrokerMessage> message, DeadLetter why,
                   std::function<void(bool)> done) final;
  void stop_fetching() override;
  void stop() final;

 protected:
  struct Command {
    enum class Kind { ack, give_back, dead_letter } kind = Kind::ack;
    DeliveryId delivery;
    std::shared_ptr<const BrokerMessage> message = nullptr;  // the rest: of a dead letter only
    DeadLetter why = {};
    std::function<void(bool)> done = nullptr;
  };

  // Returns what each thread runs. They return soon after `stopping_` was set; commands_ wakes
  // them.
  virtual std::vector<std::function<void()>> threads() = 0;

  Callbacks callbacks_;
  brokers::Commands<Command> commands_;
  std::atomic<bool> fetching_ = true;
  std::atomic<bool> stopping_ = false;
  std::atomic<std::uint64_t> connection_number_ = 1;

 private:
  std::vector<std::thread> threads_;
};

}  // namespace semel::consume
