#pragma once

#include <atomic>
#include <expected>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>

#include "brokers/commands.h"
#include "brokers/kafka_client.h"
#include "config/consume.h"
#include "consume/sources/source.h"

namespace semel {

// Reads a topic of Kafka, as a member of a consumer group. Experimental.
//
// Kafka remembers one offset per partition: everything before it is done. Messages are settled in
// any order here, and the committed offset is that of the first one that is not settled. After a
// loss, some messages that are done come again, and are recognized. Everything runs on one thread.
class KafkaSource final : public Source {
 public:
  static std::expected<std::unique_ptr<Source>, std::string> make(const ConsumeConfig& config);
  ~KafkaSource() override;

  void start(Callbacks callbacks) override;
  bool is_current(const DeliveryId& delivery) const override {
    return delivery.connection == assignment_;
  }
  void ack(const DeliveryId& delivery) override;
  // Leaves the offset where it is: whoever gets the partition next begins there.
  void give_back(const DeliveryId&) override {}
  void dead_letter(std::shared_ptr<const Message> message, DeadLetter why,
                   std::function<void(bool)> done) override;
  void stop_fetching() override;
  void stop() override;

 private:
  struct Place {
    std::int32_t partition = 0;
    std::int64_t offset = 0;
  };
  struct Partition {
    std::set<std::int64_t> unsettled;
    std::int64_t next = -1;       // after the last message delivered
    std::int64_t committed = -1;  // as far as we have told Kafka
  };
  struct Command {
    DeliveryId delivery;
    std::shared_ptr<const Message> message = nullptr;  // null: acknowledge
    DeadLetter why = {};
    std::function<void(bool)> done = nullptr;
  };
  // A dead letter on its way to the dead letters' topic.
  struct Letter {
    KafkaSource& source;
    DeliveryId delivery;
    std::shared_ptr<const Message> message;
    std::function<void(bool)> done;
  };
  explicit KafkaSource(const ConsumeConfig& config);
  std::expected<void, std::string> make_clients();
  std::expected<KafkaClient, std::string> make_producer() const;
  void replace_broken_producer();
  void end_producer();

  void run();
  void run_commands();
  void take(const rd_kafka_message_t& message);
  void settled(const DeliveryId& delivery);
  void publish(Command command);
  void pause_or_resume();
  void commit(bool wait);
  void rebalance(rd_kafka_resp_err_t what, rd_kafka_topic_partition_list_t* partitions);
  static void on_rebalance(rd_kafka_t*, rd_kafka_resp_err_t what,
                           rd_kafka_topic_partition_list_t* partitions, void* self);
  static void on_published(rd_kafka_t*, const rd_kafka_message_t* report, void*);

  const BrokerConfig config_;
  const std::string dead_letter_topic_;
  const std::string operation_;
  Callbacks callbacks_;
  Commands<Command> commands_;
  std::thread thread_;
  std::atomic<bool> fetching_ = true;
  std::atomic<bool> stopping_ = false;
  std::atomic<std::uint64_t> assignment_ = 1;

  // Used by the thread only.
  KafkaClient consumer_;
  KafkaClient producer_;
  bool paused_ = false;
  std::uint64_t delivered_ = 0;
  std::unordered_map<std::uint64_t, Place> unsettled_;
  std::map<std::int32_t, Partition> partitions_;
};

}  // namespace semel
