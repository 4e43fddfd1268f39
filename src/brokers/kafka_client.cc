#include "brokers/kafka_client.h"

namespace semel::brokers {

KafkaSettings kafka_settings(const config::BrokerAddress& broker) {
  KafkaSettings settings = broker.properties;
  settings.emplace_back("bootstrap.servers", broker.brokers);
  settings.emplace_back("client.id", "semel");
  return settings;
}

std::expected<rd_kafka_conf_t*, std::string> make_kafka_conf(const KafkaSettings& settings) {
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  char why[512];
  for (const auto& [name, value] : settings) {
    if (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), why, sizeof why) != RD_KAFKA_CONF_OK) {
      rd_kafka_conf_destroy(conf);
      return std::unexpected(std::string(why));
    }
  }
  return conf;
}

std::expected<KafkaClient, std::string> make_kafka_client(rd_kafka_type_t type,
                                                          rd_kafka_conf_t* conf) {
  char why[512];
  KafkaClient client(rd_kafka_new(type, conf, why, sizeof why));
  if (client) return client;
  rd_kafka_conf_destroy(conf);
  return std::unexpected(std::string(why));
}

std::expected<void, rd_kafka_resp_err_t> produce(rd_kafka_t* producer, const KafkaRecord& record) {
  rd_kafka_headers_t* headers = rd_kafka_headers_new(record.headers.size());
  for (const auto& [name, value] : record.headers) {
    rd_kafka_header_add(headers, name.data(), static_cast<ssize_t>(name.size()), value.data(),
                        static_cast<ssize_t>(value.size()));
  }
  rd_kafka_vu_t parts[6] = {};
  parts[0].vtype = RD_KAFKA_VTYPE_TOPIC;
  parts[0].u.cstr = record.topic.c_str();
  parts[1].vtype = RD_KAFKA_VTYPE_VALUE;
  parts[1].u.mem = {const_cast<char*>(record.value.data()), record.value.size()};
  parts[2].vtype = RD_KAFKA_VTYPE_KEY;
  if (record.key) parts[2].u.mem = {const_cast<char*>(record.key->data()), record.key->size()};
  parts[3].vtype = RD_KAFKA_VTYPE_HEADERS;
  parts[3].u.headers = headers;
  parts[4].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
  parts[4].u.i = RD_KAFKA_MSG_F_COPY;
  parts[5].vtype = RD_KAFKA_VTYPE_OPAQUE;
  parts[5].u.ptr = record.opaque;
  rd_kafka_error_t* error = rd_kafka_produceva(producer, parts, std::size(parts));
  if (!error) return {};
  const rd_kafka_resp_err_t code = rd_kafka_error_code(error);
  rd_kafka_error_destroy(error);
  rd_kafka_headers_destroy(headers);
  return std::unexpected(code);
}

}  // namespace semel::brokers
