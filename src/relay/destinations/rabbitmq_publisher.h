#pragma once

#include <atomic>
#include <chrono>
#include <expected>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "brokers/amqp_link.h"
#include "brokers/commands.h"
#include "relay/publication.h"

namespace semel::relay {

// Publishes to an exchange of RabbitMQ with confirms, persistent and mandatory: a message that no
// queue takes comes back and is refused. Uses one connection, on one thread.
class RabbitmqPublisher final : public Publisher {
 public:
  static std::expected<std::unique_ptr<Publisher>, std::string> make(const std::string& name,
                                                                     const BrokerTarget& target);
  ~RabbitmqPublisher() override;

  void publish(std::shared_ptr<Publication> publication) override;

 private:
  using Waiting = std::shared_ptr<Publication>;
  struct Sent {
    Waiting publication;
    bool returned = false;  // there is no queue for it
  };
  using Worked = std::expected<void, std::string>;

  RabbitmqPublisher(std::string name, const BrokerTarget& target, AmqpAddress address);

  void run();
  Worked open();
  // Serves until it is stopped, or until the connection is lost, which is the error.
  Worked serve();
  Worked send_waiting();
  Worked send(const Waiting& publication);
  // Takes the next thing that has arrived. False: nothing (more) has.
  std::expected<bool, std::string> read_one();
  void confirmed(std::uint64_t number, bool multiple, bool kept);
  Worked returned();
  // There is no connection: settles everything that was handed over, to be tried again.
  void give_up(const std::string& why);
  void rest(std::chrono::milliseconds pause, const std::string& why);
  void forget_abandoned();
  void wait(std::chrono::milliseconds timeout);

  const std::string name_;
  const BrokerTarget target_;
  const AmqpAddress address_;
  Commands<Waiting> waiting_;
  std::atomic<bool> stopping_ = false;

  // Used by the thread only.
  AmqpConnection connection_;
  std::uint64_t published_ = 0;
  std::map<std::uint64_t, Sent> unconfirmed_;  // by publishing number

  std::thread thread_;
};

}  // namespace semel::relay
