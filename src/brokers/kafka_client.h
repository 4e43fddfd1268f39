#pragma once

#include <librdkafka/rdkafka.h>

#include <expected>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"
#include "semel/driver/record.h"

// Clients of Kafka, made with librdkafka.
namespace semel::brokers {

using KafkaSettings = std::vector<std::pair<std::string, std::string>>;

struct KafkaDestroy {
  void operator()(rd_kafka_t* client) const { rd_kafka_destroy(client); }
};
using KafkaClient = std::unique_ptr<rd_kafka_t, KafkaDestroy>;

// Returns the brokers' addresses and whatever else the configuration sets. More may be appended.
KafkaSettings kafka_settings(const config::BrokerAddress& broker);

// The error says which setting is wrong, and why.
std::expected<rd_kafka_conf_t*, std::string> make_kafka_conf(const KafkaSettings& settings);
// Takes ownership of the configuration, even if it fails.
std::expected<KafkaClient, std::string> make_kafka_client(rd_kafka_type_t type,
                                                          rd_kafka_conf_t* conf);

// A message for produce(). Names and values are copied when it is made; topic, key and value must
// live until it is produced.
struct KafkaRecord {
  const std::string& topic;
  const std::string* key;  // nullptr: none
  const std::string& value;
  const std::vector<Header>& headers;
  void* opaque;  // its delivery report will carry this
};
// Hands the record to the producer, which reports later what became of it. After an error, it never
// will.
std::expected<void, rd_kafka_resp_err_t> produce(rd_kafka_t* producer, const KafkaRecord& record);

}  // namespace semel::brokers
