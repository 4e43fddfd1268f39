#pragma once

#include <atomic>
#include <chrono>
#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "brokers/commands.h"
#include "brokers/nats_link.h"
#include "relay/publication.h"

namespace semel::relay {

// Publishes to a subject of JetStream, with the derived key as Nats-Msg-Id, by which the stream
// itself drops duplicates within its window. One thread connects and sends, another reads the
// stream's acknowledgements.
class NatsPublisher final : public Publisher {
 public:
  static std::expected<std::unique_ptr<Publisher>, std::string> make(const std::string& name,
                                                                     const BrokerTarget& target);
  ~NatsPublisher() override;

  void publish(std::shared_ptr<Publication> publication) override;

 private:
  using Waiting = std::shared_ptr<Publication>;
  using Worked = std::expected<void, std::string>;

  NatsPublisher(std::string name, const BrokerTarget& target, NatsOptions options);

  void run();
  Worked open();
  // Pauses while there is no connection, and refuses what is published meanwhile.
  void rest(std::chrono::milliseconds pause, const std::string& why);
  void refuse_waiting(const std::string& why);
  void wait(std::chrono::milliseconds timeout);
  void send(const Waiting& publication);
  bool is_connected() const;
  bool is_closed() const;

  void read_until_closed();
  void acknowledged(natsMsg* answer);
  // Finds out whether the connection that sent the unconfirmed messages is gone.
  void look_for_a_loss();
  void try_all_again(const std::string& why);

  const std::string name_;
  const BrokerTarget target_;
  const NatsOptions options_;
  Commands<Waiting> waiting_;
  std::atomic<bool> stopping_ = false;

  // In this order: later members refer to earlier ones.
  NatsConnection connection_;
  std::string inbox_;  // the subject for acknowledgements, without their numbers
  NatsSubscription subscription_;
  std::uint64_t published_ = 0;
  std::uint64_t reconnects_ = 0;  // used by the reading thread only

  std::mutex mutex_;
  std::map<std::uint64_t, Waiting> unconfirmed_;  // by publishing number; under mutex_

  std::thread reader_;
  std::thread thread_;
};

}  // namespace semel::relay
