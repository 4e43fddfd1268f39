// The promise: an offset is committed only when every message before it was acknowledged, or is
// among the dead letters.
#include "consume/sources/kafka_source.h"

#include <chrono>

#include "telemetry/log.h"

namespace semel::consume {
namespace {

constexpr int kPollMs = 20;
constexpr auto kCommitEvery = std::chrono::milliseconds(200);
constexpr int kProducerFlushMs = 5000;

std::vector<Header> headers_in(const rd_kafka_message_t& message) {
  std::vector<Header> headers;
  rd_kafka_headers_t* all = nullptr;
  if (rd_kafka_message_headers(&message, &all) != RD_KAFKA_RESP_ERR_NO_ERROR) return headers;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t i = 0;
       rd_kafka_header_get_all(all, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR; ++i) {
    headers.push_back({name, value ? std::string(static_cast<const char*>(value), size) : ""});
  }
  return headers;
}

}  // namespace

std::expected<std::unique_ptr<Source>, std::string> KafkaSource::make(
    const config::ConsumeConfig& config) {
  std::unique_ptr<KafkaSource> source(new KafkaSource(config));
  if (auto made = source->make_clients(); !made) {
    return std::unexpected(config.route.name + ": from: " + made.error());
  }
  return source;
}

KafkaSource::KafkaSource(const config::ConsumeConfig& config)
    : config_(config.from),
      dead_letter_topic_(config.dead_letter.topic),
      operation_(config.route.name) {}

KafkaSource::~KafkaSource() {
  stop();
}

std::expected<void, std::string> KafkaSource::make_clients() {
  brokers::KafkaSettings consuming = brokers::kafka_settings(config_);
  consuming.emplace_back("group.id", config_.group);
  consuming.emplace_back("enable.auto.commit", "false");
  consuming.emplace_back("enable.auto.offset.store", "false");
  consuming.emplace_back("auto.offset.reset", "earliest");
  auto conf = brokers::make_kafka_conf(consuming);
  if (!conf) return std::unexpected(conf.error());
  rd_kafka_conf_set_opaque(*conf, this);
  rd_kafka_conf_set_rebalance_cb(*conf, on_rebalance);
  auto client = brokers::make_kafka_client(RD_KAFKA_CONSUMER, *conf);
  if (!client) return std::unexpected(client.error());
  consumer_ = *std::move(client);
  rd_kafka_poll_set_consumer(consumer_.get());
  client = make_producer();
  if (!client) return std::unexpected(client.error());
  producer_ = *std::move(client);
  return {};
}

std::expected<brokers::KafkaClient, std::string> KafkaSource::make_producer() const {
  brokers::KafkaSettings producing = brokers::kafka_settings(config_);
  producing.emplace_back("enable.idempotence", "true");
  const auto conf = brokers::make_kafka_conf(producing);
  if (!conf) return std::unexpected(conf.error());
  rd_kafka_conf_set_dr_msg_cb(*conf, on_published);
  return brokers::make_kafka_client(RD_KAFKA_PRODUCER, *conf);
}

// Replaces an idempotent producer that has lost its place: it takes nothing more.
void KafkaSource::replace_broken_producer() {
  char why[512];
  if (rd_kafka_fatal_error(producer_.get(), why, sizeof why) == RD_KAFKA_RESP_ERR_NO_ERROR) return;
  auto fresh = make_producer();
  if (!fresh) return;  // messages published meanwhile fail and are tried again
  telemetry::log_event(config::LogLevel::error, "dead letters: replacing the producer",
                       {{"operation", operation_}, {"why", why}});
  end_producer();
  producer_ = *std::move(fresh);
}

// Tells whoever waits for a letter that it was not kept.
void KafkaSource::end_producer() {
  rd_kafka_purge(producer_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
  rd_kafka_poll(producer_.get(), 0);
}

std::vector<std::function<void()>> KafkaSource::threads() {
  return {[this] { run(); }};
}

void KafkaSource::run() {
  PartitionList topics(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(topics.get(), config_.topic.c_str(), RD_KAFKA_PARTITION_UA);
  rd_kafka_subscribe(consumer_.get(), topics.get());
  auto next_commit = std::chrono::steady_clock::now() + kCommitEvery;
  while (!stopping_) {
    run_commands();
    rd_kafka_poll(producer_.get(), 0);
    replace_broken_producer();
    pause_or_resume();
    // Poll even if nothing is wanted: members that do not poll are put out of their group.
    if (rd_kafka_message_t* message = rd_kafka_consumer_poll(consumer_.get(), kPollMs)) {
      take(*message);
      rd_kafka_message_destroy(message);
    }
    const auto now = std::chrono::steady_clock::now();
    if (now >= next_commit) {
      commit(false);
      next_commit = now + kCommitEvery;
    }
  }
  run_commands();
  rd_kafka_flush(producer_.get(), kProducerFlushMs);
  end_producer();
  commit(true);
  rd_kafka_consumer_close(consumer_.get());
  producer_.reset();
  consumer_.reset();
}

void KafkaSource::run_commands() {
  for (Command& command : commands_.take()) {
    const bool settles =
        is_current(command.delivery) && unsettled_.contains(command.delivery.number);
    if (!settles) {
      if (command.done) command.done(false);
    } else if (command.message) {
      publish(std::move(command));
    } else {
      settled(command.delivery);
    }
  }
}

void KafkaSource::take(const rd_kafka_message_t& from) {
  if (from.err) {
    if (from.err != RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      telemetry::log_event(config::LogLevel::warn, "broker error",
                           {{"topic", config_.topic}, {"why", rd_kafka_message_errstr(&from)}});
    }
    return;
  }
  Partition& partition = partitions_[from.partition];
  BrokerMessage message;
  message.delivery = {partition.assignment, ++delivered_};
  message.body.assign(static_cast<const char*>(from.payload), from.len);
  message.headers = headers_in(from);
  for (const Header& header : message.headers) {
    if (header.name == "content-type" || header.name == "Content-Type") {
      message.content_type = header.value;
    }
  }
  if (from.key) {
    message.properties.push_back({"key", {static_cast<const char*>(from.key), from.key_len}});
  }
  message.properties.push_back({"offset", config_.topic + "/" + std::to_string(from.partition) +
                                              "/" + std::to_string(from.offset)});
  unsettled_[delivered_] = {from.partition, from.offset};
  partition.unsettled.insert(from.offset);
  partition.next = from.offset + 1;
  callbacks_.delivered(std::move(message));
}

void KafkaSource::settled(const DeliveryId& delivery) {
  if (!is_current(delivery)) return;
  const auto found = unsettled_.find(delivery.number);
  if (found == unsettled_.end()) return;
  partitions_[found->second.partition].unsettled.erase(found->second.offset);
  unsettled_.erase(found);
}

void KafkaSource::publish(Command command) {
  auto letter = std::make_unique<Letter>(*this, command.delivery, std::move(command.message),
                                         std::move(command.done));
  std::vector<Header> headers = letter->message->headers;
  const std::string* key = nullptr;
  for (const Header& property : letter->message->properties) {
    if (property.name == "key") key = &property.value;
    if (property.name == "offset") headers.push_back({"Semel-Offset", property.value});
  }
  for (Header& header : headers_of(command.why)) headers.push_back(std::move(header));
  const auto handed_over = brokers::produce(
      producer_.get(), {dead_letter_topic_, key, letter->message->body, headers, letter.get()});
  if (!handed_over) {
    letter->done(false);
    return;
  }
  static_cast<void>(letter.release());  // on_published() takes it
}

void KafkaSource::on_published(rd_kafka_t*, const rd_kafka_message_t* report, void*) {
  const std::unique_ptr<Letter> letter(static_cast<Letter*>(report->_private));
  const bool kept = report->err == RD_KAFKA_RESP_ERR_NO_ERROR;
  if (kept) {
    letter->source.settled(letter->delivery);
  } else {
    telemetry::log_event(config::LogLevel::error, "dead letter not kept",
                         {{"operation", letter->source.operation_},
                          {"topic", letter->source.dead_letter_topic_},
                          {"why", rd_kafka_err2str(report->err)}});
  }
  letter->done(kept);
}

void KafkaSource::pause_or_resume() {
  const bool wants = fetching_ && unsettled_.size() < config_.prefetch;
  if (wants != paused_) return;  // paused exactly if nothing is wanted
  if (wants) {
    resume();
  } else if (const PartitionList all = assignment()) {
    rd_kafka_pause_partitions(consumer_.get(), all.get());
    paused_ = true;
  }
}

// Resumes every partition: one that was paused before it was taken away comes back paused.
void KafkaSource::resume() {
  const PartitionList all = assignment();
  if (!all) return;
  rd_kafka_resume_partitions(consumer_.get(), all.get());
  paused_ = false;
}

// Returns the partitions of this member; null: librdkafka does not say.
KafkaSource::PartitionList KafkaSource::assignment() const {
  rd_kafka_topic_partition_list_t* list = nullptr;
  rd_kafka_assignment(consumer_.get(), &list);
  return PartitionList(list);
}

void KafkaSource::commit(bool wait) {
  const PartitionList offsets(rd_kafka_topic_partition_list_new(4));
  for (auto& [number, partition] : partitions_) {
    const std::int64_t done =
        partition.unsettled.empty() ? partition.next : *partition.unsettled.begin();
    // Before the end, everything is committed once more: earlier commits may not have arrived.
    if (done < 0 || (!wait && done <= partition.committed)) continue;
    rd_kafka_topic_partition_list_add(offsets.get(), config_.topic.c_str(), number)->offset = done;
    partition.committed = done;
  }
  if (offsets->cnt > 0) rd_kafka_commit(consumer_.get(), offsets.get(), wait ? 0 : 1);
}

void KafkaSource::on_rebalance(rd_kafka_t*, rd_kafka_resp_err_t what,
                               rd_kafka_topic_partition_list_t* partitions, void* self) {
  static_cast<KafkaSource*>(self)->rebalance(what, partitions);
}

bool KafkaSource::is_current(const DeliveryId& delivery) const {
  const std::lock_guard lock(mutex_);
  return assignments_.contains(delivery.connection);
}

// With `cooperative-sticky` partitions come and go one by one, and the others stay as they are.
void KafkaSource::rebalance(rd_kafka_resp_err_t what, rd_kafka_topic_partition_list_t* partitions) {
  const bool one_by_one =
      std::string_view(rd_kafka_rebalance_protocol(consumer_.get())) == "COOPERATIVE";
  if (what == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
    telemetry::log_event(
        config::LogLevel::info, "broker connected",
        {{"topic", config_.topic}, {"partitions", std::to_string(partitions->cnt)}});
    assigned(*partitions);
    if (one_by_one) {
      rd_kafka_error_destroy(rd_kafka_incremental_assign(consumer_.get(), partitions));
    } else {
      rd_kafka_assign(consumer_.get(), partitions);
    }
    resume();
    return;
  }
  commit(true);
  revoked(*partitions);
  if (one_by_one) {
    rd_kafka_error_destroy(rd_kafka_incremental_unassign(consumer_.get(), partitions));
  } else {
    rd_kafka_assign(consumer_.get(), nullptr);
  }
  callbacks_.lost();
}

void KafkaSource::assigned(const rd_kafka_topic_partition_list_t& partitions) {
  const std::lock_guard lock(mutex_);
  for (int i = 0; i < partitions.cnt; ++i) {
    Partition& partition = partitions_[partitions.elems[i].partition];
    partition = Partition{.assignment = ++connection_number_};
    assignments_.insert(partition.assignment);
  }
}

// Messages delivered from these partitions belong to somebody else from here on, or come again.
void KafkaSource::revoked(const rd_kafka_topic_partition_list_t& partitions) {
  const std::lock_guard lock(mutex_);
  for (int i = 0; i < partitions.cnt; ++i) {
    const std::int32_t number = partitions.elems[i].partition;
    const auto found = partitions_.find(number);
    if (found == partitions_.end()) continue;
    assignments_.erase(found->second.assignment);
    partitions_.erase(found);
    std::erase_if(unsettled_, [&](const auto& entry) { return entry.second.partition == number; });
  }
}

}  // namespace semel::consume
