#pragma once

#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "brokers/nats_link.h"
#include "relay/destinations/threaded_publisher.h"

namespace semel::relay {

// Publishes to a subject of JetStream, with the derived key as Nats-Msg-Id, by which the stream
// itself drops duplicates within its window. One thread connects and sends, another reads the
// stream's acknowledgements.
class NatsPublisher final : public ThreadedPublisher {
 public:
  static std::expected<std::unique_ptr<Publisher>, std::string> make(
      const std::string& name, const config::BrokerTarget& target);
  ~NatsPublisher() override { end(); }

 private:
  using Worked = std::expected<void, std::string>;

  NatsPublisher(std::string name, const config::BrokerTarget& target, brokers::NatsOptions options);

  void run();
  Worked open();
  void send(const Waiting& publication);
  bool is_connected() const;
  bool is_closed() const;

  void read_until_closed();
  void acknowledged(natsMsg* answer);
  // Finds out whether the connection that sent the unconfirmed messages is gone.
  void look_for_a_loss();
  void try_all_again(const std::string& why);

  const brokers::NatsOptions options_;

  // In this order: later members refer to earlier ones.
  brokers::NatsConnection connection_;
  std::string inbox_;  // the subject for acknowledgements, without their numbers
  brokers::NatsSubscription subscription_;
  std::uint64_t published_ = 0;
  std::uint64_t reconnects_ = 0;  // used by the reading thread only

  std::mutex mutex_;
  std::map<std::uint64_t, Waiting> unconfirmed_;  // by publishing number; under mutex_

  std::thread reader_;
};

}  // namespace semel::relay
