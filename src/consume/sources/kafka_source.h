#pragma once

#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>

#include "brokers/kafka_client.h"
#include "config/consume.h"
#include "consume/sources/threaded_source.h"

namespace semel::consume {

// Reads a topic of Kafka, as a member of a consumer group.
//
// Kafka remembers one offset per partition: everything before it is done. Messages are settled in
// any order here, and the committed offset is that of the first one that is not settled. After a
// loss, some messages that are done come again, and are recognized. Everything runs on one thread.
class KafkaSource final : public ThreadedSource {
 public:
  static std::expected<std::unique_ptr<Source>, std::string> make(
      const config::ConsumeConfig& config);
  ~KafkaSource() override;

  bool is_current(const DeliveryId& delivery) const override;
  // Leaves the offset where it is: whoever gets the partition next begins there.
  void give_back(const DeliveryId&) override {}

 private:
  struct Place {
    std::int32_t partition = 0;
    std::int64_t offset = 0;
  };
  struct Partition {
    std::uint64_t assignment = 0;  // the time that it was given to us; in its deliveries' ids
    std::set<std::int64_t> unsettled = {};
    std::int64_t next = -1;       // after the last message delivered
    std::int64_t committed = -1;  // as far as we have told Kafka
  };
  // A dead letter on its way to the dead letters' topic.
  struct Letter {
    KafkaSource& source;
    DeliveryId delivery;
    std::shared_ptr<const BrokerMessage> message;
    std::function<void(bool)> done;
  };
  struct ListDestroy {
    void operator()(rd_kafka_topic_partition_list_t* list) const {
      rd_kafka_topic_partition_list_destroy(list);
    }
  };
  using PartitionList = std::unique_ptr<rd_kafka_topic_partition_list_t, ListDestroy>;

  explicit KafkaSource(const config::ConsumeConfig& config);
  std::expected<void, std::string> make_clients();
  std::expected<brokers::KafkaClient, std::string> make_producer() const;
  void replace_broken_producer();
  void end_producer();

  std::vector<std::function<void()>> threads() override;
  void run();
  void run_commands();
  void take(const rd_kafka_message_t& message);
  void settled(const DeliveryId& delivery);
  void publish(Command command);
  void pause_or_resume();
  void resume();
  PartitionList assignment() const;
  void commit(bool wait);
  void rebalance(rd_kafka_resp_err_t what, rd_kafka_topic_partition_list_t* partitions);
  void assigned(const rd_kafka_topic_partition_list_t& partitions);
  void revoked(const rd_kafka_topic_partition_list_t& partitions);
  static void on_rebalance(rd_kafka_t*, rd_kafka_resp_err_t what,
                           rd_kafka_topic_partition_list_t* partitions, void* self);
  static void on_published(rd_kafka_t*, const rd_kafka_message_t* report, void*);

  const config::BrokerConfig config_;
  const std::string dead_letter_topic_;
  const std::string operation_;

  // Used by the thread only.
  brokers::KafkaClient consumer_;
  brokers::KafkaClient producer_;
  bool paused_ = false;
  std::uint64_t delivered_ = 0;
  std::unordered_map<std::uint64_t, Place> unsettled_;
  std::map<std::int32_t, Partition> partitions_;

  mutable std::mutex mutex_;
  std::set<std::uint64_t> assignments_;  // of partitions_, under mutex_
};

}  // namespace semel::consume
