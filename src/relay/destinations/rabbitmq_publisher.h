#pragma once

#include <expected>
#include <map>
#include <memory>
#include <string>

#include "brokers/amqp_link.h"
#include "relay/destinations/threaded_publisher.h"

namespace semel::relay {

// Publishes to an exchange of RabbitMQ with confirms, persistent and mandatory: a message that no
// queue takes comes back and is refused. Uses one connection, on one thread.
class RabbitmqPublisher final : public ThreadedPublisher {
 public:
  static std::expected<std::unique_ptr<Publisher>, std::string> make(
      const std::string& name, const config::BrokerTarget& target);
  ~RabbitmqPublisher() override { end(); }

 private:
  struct Sent {
    Waiting publication;
    bool returned = false;  // there is no queue for it
  };
  using Worked = std::expected<void, std::string>;

  RabbitmqPublisher(std::string name, const config::BrokerTarget& target,
                    brokers::AmqpAddress address);

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
  void forget_abandoned();

  const brokers::AmqpAddress address_;

  // Used by the thread only.
  brokers::AmqpConnection connection_;
  std::uint64_t published_ = 0;
  std::map<std::uint64_t, Sent> unconfirmed_;  // by publishing number
};

}  // namespace semel::relay
