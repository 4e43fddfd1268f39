// A Kafka cluster that is librdkafka's own mock, as a process for the tests: prints its address,
// then does what each line of standard input says and answers with a line of JSON.
//
//   topic NAME PARTITIONS          produce TOPIC KEY VALUE [HEADER VALUE]…       ("-" is no key)
//   read TOPIC                     everything in it, from the beginning
//   down, up                       the brokers
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <boost/json.hpp>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace json = boost::json;

constexpr int kBrokers = 1;
constexpr int kTimeoutMs = 20'000;

rd_kafka_t* make_client(rd_kafka_type_t type, const std::string& brokers) {
  char why[512];
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  const auto set = [&](const char* name, const std::string& value) {
    rd_kafka_conf_set(conf, name, value.c_str(), why, sizeof why);
  };
  if (!brokers.empty()) set("bootstrap.servers", brokers);
  if (type == RD_KAFKA_CONSUMER) {
    set("group.id", "reader");
    set("enable.partition.eof", "true");
  }
  rd_kafka_t* client = rd_kafka_new(type, conf, why, sizeof why);
  if (!client) {
    std::cerr << why << "\n";
    std::exit(1);
  }
  return client;
}

json::value produce(rd_kafka_t* producer, const std::vector<std::string>& words) {
  rd_kafka_headers_t* headers = rd_kafka_headers_new(4);
  for (std::size_t i = 4; i + 1 < words.size(); i += 2) {
    rd_kafka_header_add(headers, words[i].c_str(), -1, words[i + 1].c_str(), -1);
  }
  rd_kafka_vu_t parts[4] = {};
  parts[0].vtype = RD_KAFKA_VTYPE_TOPIC;
  parts[0].u.cstr = words[1].c_str();
  parts[1].vtype = RD_KAFKA_VTYPE_VALUE;
  parts[1].u.mem = {const_cast<char*>(words[3].data()), words[3].size()};
  parts[2].vtype = RD_KAFKA_VTYPE_HEADERS;
  parts[2].u.headers = headers;
  parts[3].vtype = RD_KAFKA_VTYPE_KEY;
  if (words[2] != "-") parts[3].u.mem = {const_cast<char*>(words[2].data()), words[2].size()};
  rd_kafka_error_t* error = nullptr;
  rd_kafka_vu_t flags{};
  flags.vtype = RD_KAFKA_VTYPE_MSGFLAGS;
  flags.u.i = RD_KAFKA_MSG_F_COPY;
  const rd_kafka_vu_t all[5] = {parts[0], parts[1], parts[2], parts[3], flags};
  error = rd_kafka_produceva(producer, all, 5);
  if (error) return {{"error", rd_kafka_error_string(error)}};
  return {{"flushed", rd_kafka_flush(producer, kTimeoutMs) == RD_KAFKA_RESP_ERR_NO_ERROR}};
}

json::object to_json(const rd_kafka_message_t& message) {
  json::object out;
  out["body"] = std::string(static_cast<const char*>(message.payload), message.len);
  if (message.key) {
    out["key"] = std::string(static_cast<const char*>(message.key), message.key_len);
  }
  json::object headers;
  rd_kafka_headers_t* all = nullptr;
  rd_kafka_message_headers(&message, &all);
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t i = 0; all && !rd_kafka_header_get_all(all, i, &name, &value, &size); ++i) {
    headers[name] = std::string(static_cast<const char*>(value), size);
  }
  out["headers"] = std::move(headers);
  return out;
}

json::value read_topic(rd_kafka_t* reader, const std::string& topic) {
  rd_kafka_topic_partition_list_t* list = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(list, topic.c_str(), 0)->offset = RD_KAFKA_OFFSET_BEGINNING;
  rd_kafka_assign(reader, list);
  rd_kafka_topic_partition_list_destroy(list);
  json::array found;
  for (;;) {
    rd_kafka_message_t* message = rd_kafka_consumer_poll(reader, kTimeoutMs);
    if (!message) return {{"error", "timeout"}};
    const rd_kafka_resp_err_t error = message->err;
    if (!error) found.push_back(to_json(*message));
    rd_kafka_message_destroy(message);
    if (error == RD_KAFKA_RESP_ERR__PARTITION_EOF) break;
  }
  rd_kafka_assign(reader, nullptr);
  return found;
}

}  // namespace

int main() {
  rd_kafka_t* owner = make_client(RD_KAFKA_PRODUCER, "");
  rd_kafka_mock_cluster_t* cluster = rd_kafka_mock_cluster_new(owner, kBrokers);
  const std::string brokers = rd_kafka_mock_cluster_bootstraps(cluster);
  rd_kafka_t* producer = make_client(RD_KAFKA_PRODUCER, brokers);
  rd_kafka_t* reader = make_client(RD_KAFKA_CONSUMER, brokers);
  std::cout << brokers << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    json::value answer;
    if (words[0] == "topic") {
      answer = {{"error", static_cast<int>(rd_kafka_mock_topic_create(
                              cluster, words[1].c_str(), std::stoi(words[2]), kBrokers))}};
    } else if (words[0] == "down" || words[0] == "up") {
      for (int broker = 1; broker <= kBrokers; ++broker) {
        words[0] == "up" ? rd_kafka_mock_broker_set_up(cluster, broker)
                         : rd_kafka_mock_broker_set_down(cluster, broker);
      }
      answer = {{"done", words[0]}};
    } else if (words[0] == "produce") {
      answer = produce(producer, words);
    } else {
      answer = read_topic(reader, words[1]);
    }
    std::cout << json::serialize(answer) << std::endl;
  }
  std::_Exit(0);
}
