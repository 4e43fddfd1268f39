// The promise: Delivered is said only after the brokers' acknowledgement (acks=all) was reported.
#include "relay/destinations/kafka_publisher.h"

#include "telemetry/log.h"

namespace semel::relay {
namespace {

constexpr int kPollMs = 100;

// Passed through librdkafka, which keeps one pointer for us.
using Handle = std::shared_ptr<Publication>;

Outcome outcome_of(rd_kafka_resp_err_t error) {
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return Delivered{};
  const std::string why = rd_kafka_err2str(error);
  switch (error) {
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
      return Refused{why};
    default:
      return Retry{why};
  }
}

// Reports everything that is still on its way as not delivered.
void abandon_all(rd_kafka_t* producer) {
  rd_kafka_purge(producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
  rd_kafka_flush(producer, kPollMs);
}

}  // namespace

std::expected<std::unique_ptr<Publisher>, std::string> KafkaPublisher::make(
    const config::BrokerTarget& target, Duration timeout) {
  std::unique_ptr<KafkaPublisher> made(new KafkaPublisher(target, timeout));
  auto producer = made->make_producer();
  if (!producer) return std::unexpected(std::move(producer.error()));
  made->producer_ = *std::move(producer);
  made->thread_ = std::thread([self = made.get()] { self->run(); });
  return made;
}

KafkaPublisher::~KafkaPublisher() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  if (producer_) abandon_all(producer_.get());
}

std::expected<std::shared_ptr<rd_kafka_t>, std::string> KafkaPublisher::make_producer() const {
  // Partitions as Java's producer does; librdkafka's own way would spread an empty ordering key
  // over partitions.
  brokers::KafkaSettings settings = brokers::kafka_settings(target_);
  settings.insert(settings.begin(), {"partitioner", "murmur2_random"});
  settings.emplace_back("enable.idempotence", "true");
  settings.emplace_back("message.timeout.ms", std::to_string(timeout_.count()));
  auto conf = brokers::make_kafka_conf(settings);
  if (!conf) return std::unexpected(std::move(conf.error()));
  rd_kafka_conf_set_dr_msg_cb(*conf, on_report);
  auto client = brokers::make_kafka_client(RD_KAFKA_PRODUCER, *conf);
  if (!client) return std::unexpected(std::move(client.error()));
  return std::shared_ptr<rd_kafka_t>(*std::move(client));
}

void KafkaPublisher::publish(std::shared_ptr<Publication> publication) {
  std::vector<Header> headers;
  headers.push_back({"content-type", publication->envelope.content_type});
  for (const Header& attribute : publication->envelope.attributes) {
    headers.push_back({"ce_" + attribute.name, attribute.value});
  }
  for (const Header& header : publication->envelope.headers) headers.push_back(header);
  const Message& message = *publication->message;
  const std::string* key = message.ordering_key ? &*message.ordering_key : nullptr;
  auto handle = std::make_unique<Handle>(publication);
  std::expected<void, rd_kafka_resp_err_t> handed_over;
  {
    const std::lock_guard lock(mutex_);
    handed_over = brokers::produce(producer_.get(),
                                   {target_.topic, key, message.payload, headers, handle.get()});
  }
  if (handed_over) {
    static_cast<void>(handle.release());  // on_report() takes it
  } else {
    publication->settle(outcome_of(handed_over.error()));
  }
}

void KafkaPublisher::run() {
  while (!stopping_) {
    rd_kafka_poll(producer_.get(), kPollMs);
    replace_if_broken();
  }
}

void KafkaPublisher::replace_if_broken() {
  char why[512];
  if (rd_kafka_fatal_error(producer_.get(), why, sizeof why) == RD_KAFKA_RESP_ERR_NO_ERROR) return;
  telemetry::log_event(config::LogLevel::error, "broker lost",
                       {{"topic", target_.topic}, {"why", why}});
  auto fresh = make_producer();
  if (!fresh) return;  // messages published meanwhile fail and are tried again
  std::shared_ptr<rd_kafka_t> broken = *std::move(fresh);
  {
    const std::lock_guard lock(mutex_);
    producer_.swap(broken);
  }
  abandon_all(broken.get());
}

void KafkaPublisher::on_report(rd_kafka_t*, const rd_kafka_message_t* report, void*) {
  const std::unique_ptr<Handle> publication(static_cast<Handle*>(report->_private));
  (*publication)->settle(outcome_of(report->err));
}

}  // namespace semel::relay
