#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "brokers/commands.h"
#include "config/config.h"
#include "relay/publication.h"

namespace semel::relay {

// A publisher with a thread of its own, which takes the publications from `waiting_`. A subclass
// calls begin() at the end of its constructor and end() in its destructor, before anything that the
// thread uses is gone.
class ThreadedPublisher : public Publisher {
 public:
  void publish(std::shared_ptr<Publication> publication) final;

 protected:
  using Waiting = std::shared_ptr<Publication>;

  ThreadedPublisher(std::string name, const config::BrokerTarget& target);
  void begin(std::function<void()> run);
  void end();

  // Settles what waits to be sent, to be tried again.
  void refuse_waiting(const std::string& why);
  // Pauses while there is no connection, and refuses what is published meanwhile.
  void rest(std::chrono::milliseconds pause, const std::string& why);
  // Waits until something is published, the other descriptor is readable, or the time is over.
  void wait(std::chrono::milliseconds timeout, int other = -1);

  const std::string name_;
  const config::BrokerTarget target_;
  brokers::Commands<Waiting> waiting_;
  std::atomic<bool> stopping_ = false;

 private:
  std::thread thread_;
};

}  // namespace semel::relay
