#pragma once

#include <atomic>
#include <expected>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "brokers/kafka_client.h"
#include "relay/publication.h"

namespace semel::relay {

// Publishes to a topic of Kafka with an idempotent producer, and with the ordering key as the
// message's key. The producer drops messages that it cannot deliver within the timeout, and says
// so.
class KafkaPublisher final : public Publisher {
 public:
  static std::expected<std::unique_ptr<Publisher>, std::string> make(
      const config::BrokerTarget& target, Duration timeout);
  ~KafkaPublisher() override;

  void publish(std::shared_ptr<Publication> publication) override;

 private:
  KafkaPublisher(const config::BrokerTarget& target, Duration timeout)
      : target_(target), timeout_(timeout) {}

  std::expected<std::shared_ptr<rd_kafka_t>, std::string> make_producer() const;
  void run();
  // Replaces a producer that cannot go on (the library's "fatal error") with a new one.
  void replace_if_broken();
  static void on_report(rd_kafka_t*, const rd_kafka_message_t* report, void*);

  const config::BrokerTarget target_;
  const Duration timeout_;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::shared_ptr<rd_kafka_t> producer_;  // under mutex_
  std::thread thread_;                    // polls for reports
};

}  // namespace semel::relay
