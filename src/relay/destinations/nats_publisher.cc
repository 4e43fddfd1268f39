// The promise: Delivered is said only after the stream has acknowledged the message. A message that
// was not acknowledged when the connection was lost may have arrived; it is published again with
// the same Nats-Msg-Id.
#include "relay/destinations/nats_publisher.h"

#include <boost/json.hpp>
#include <chrono>

#include "brokers/reconnect.h"
#include "telemetry/log.h"

namespace semel::relay {
namespace {

constexpr std::int64_t kReadTimeoutMs = 50;
constexpr auto kLookAtConnectionEvery = std::chrono::milliseconds(1000);
// Nothing is buffered while the connection is away, to be sent when nobody waits for it any more.
constexpr int kReconnectBytes = 1;
constexpr std::int64_t kFlushTimeoutMs = 1000;
constexpr const char* kNotAcknowledged =
    "the connection was lost before the stream acknowledged it";
constexpr int kMessageTooLarge = 10054;

// Reads what the stream said about a message.
Outcome read_answer(std::string_view json_text) {
  boost::system::error_code error;
  const boost::json::value answer = boost::json::parse(json_text, error);
  const boost::json::object* object = error ? nullptr : answer.if_object();
  if (!object) return Retry{"the answer is not one of JetStream's"};
  const boost::json::value* trouble = object->if_contains("error");
  if (!trouble) return object->contains("seq") ? Outcome(Delivered{}) : Retry{"no acknowledgement"};
  std::string why = "the stream refused it";
  int code = 0;
  if (const auto* about = trouble->if_object()) {
    if (const auto* text = about->if_contains("description"); text && text->is_string()) {
      why.append(": ").append(text->get_string());
    }
    if (const auto* number = about->if_contains("err_code"); number && number->is_int64()) {
      code = static_cast<int>(number->get_int64());
    }
  }
  if (code == kMessageTooLarge) return Refused{why};
  return Retry{why};
}

natsStatus add_headers(natsMsg* message, const Publication& publication) {
  natsStatus status = natsMsgHeader_Set(message, "Nats-Msg-Id", publication.message->key.c_str());
  const auto add = [&](const std::string& name, const std::string& value) {
    if (status == NATS_OK) status = natsMsgHeader_Add(message, name.c_str(), value.c_str());
  };
  add("Content-Type", publication.envelope.content_type);
  for (const Header& attribute : publication.envelope.attributes) {
    add("ce-" + attribute.name, header_value_of(attribute.value));
  }
  for (const Header& header : publication.envelope.headers) add(header.name, header.value);
  return status;
}

}  // namespace

std::expected<std::unique_ptr<Publisher>, std::string> NatsPublisher::make(
    const std::string& name, const config::BrokerTarget& target) {
  auto options = brokers::nats_options(target, "semel relay");
  if (!options) return std::unexpected(std::move(options.error()));
  natsOptions_SetReconnectBufSize(options->get(), kReconnectBytes);
  return std::unique_ptr<Publisher>(new NatsPublisher(name, target, *std::move(options)));
}

NatsPublisher::NatsPublisher(std::string name, const config::BrokerTarget& target,
                             brokers::NatsOptions options)
    : ThreadedPublisher(std::move(name), target), options_(std::move(options)) {
  begin([this] { run(); });
}

// --- the thread that sends -------------------------------------------------------------------

void NatsPublisher::run() {
  base::Backoff pause = brokers::reconnect_pauses();
  while (!stopping_) {
    if (const Worked opened = open(); !opened) {
      telemetry::log_event(config::LogLevel::warn, "broker lost",
                           {{"destination", name_}, {"why", opened.error()}});
      rest(pause.next(), opened.error());
      continue;
    }
    telemetry::log_event(config::LogLevel::info, "broker connected", {{"destination", name_}});
    pause.reset();
    reader_ = std::thread([this] { read_until_closed(); });
    while (!stopping_ && !is_closed()) {
      for (const Waiting& publication : waiting_.take()) send(publication);
      wait(kLookAtConnectionEvery);
    }
    reader_.join();
    try_all_again(kNotAcknowledged);
    subscription_.reset();
    connection_.reset();
  }
  refuse_waiting("the relay is stopping");
}

NatsPublisher::Worked NatsPublisher::open() {
  auto connection = brokers::connect_nats(options_);
  if (!connection) return std::unexpected(std::move(connection.error()));
  natsInbox* inbox = nullptr;
  if (natsInbox_Create(&inbox) != NATS_OK) return std::unexpected("cannot create an inbox");
  inbox_ = std::string(inbox) + ".";
  natsInbox_Destroy(inbox);
  natsSubscription* subscription = nullptr;
  natsStatus status =
      natsConnection_SubscribeSync(&subscription, connection->get(), (inbox_ + "*").c_str());
  if (status == NATS_OK) status = natsConnection_FlushTimeout(connection->get(), kFlushTimeoutMs);
  brokers::NatsSubscription subscribed(subscription);
  if (status != NATS_OK) return brokers::nats_failed("cannot subscribe", status);
  connection_ = *std::move(connection);
  subscription_ = std::move(subscribed);
  return {};
}

bool NatsPublisher::is_connected() const {
  return natsConnection_Status(connection_.get()) == NATS_CONN_STATUS_CONNECTED;
}

// The library reconnects by itself, but gives up for good when it was refused twice.
bool NatsPublisher::is_closed() const {
  return natsConnection_IsClosed(connection_.get());
}

void NatsPublisher::send(const Waiting& publication) {
  if (publication->is_abandoned()) return;
  if (!is_connected()) return publication->settle(Retry{"the server is not connected"});
  const std::uint64_t number = ++published_;
  const std::string& payload = publication->message->payload;
  natsMsg* made = nullptr;
  natsStatus status =
      natsMsg_Create(&made, target_.subject.c_str(), (inbox_ + std::to_string(number)).c_str(),
                     payload.data(), static_cast<int>(payload.size()));
  const brokers::NatsMessage message(made);
  if (status == NATS_OK) status = add_headers(message.get(), *publication);
  {
    const std::lock_guard lock(mutex_);
    // Nobody waits for their acknowledgement any more.
    while (!unconfirmed_.empty() && unconfirmed_.begin()->second->is_abandoned()) {
      unconfirmed_.erase(unconfirmed_.begin());
    }
    unconfirmed_[number] = publication;
  }
  if (status == NATS_OK) status = natsConnection_PublishMsg(connection_.get(), message.get());
  if (status == NATS_OK) return;
  {
    const std::lock_guard lock(mutex_);
    unconfirmed_.erase(number);
  }
  const std::string why = brokers::nats_failed("cannot publish", status).error();
  publication->settle(status == NATS_MAX_PAYLOAD ? Outcome(Refused{why}) : Outcome(Retry{why}));
}

// --- the thread that reads -------------------------------------------------------------------

void NatsPublisher::read_until_closed() {
  reconnects_ = 0;
  while (!stopping_ && !is_closed()) {
    natsMsg* read = nullptr;
    const natsStatus status = natsSubscription_NextMsg(&read, subscription_.get(), kReadTimeoutMs);
    const brokers::NatsMessage answer(read);
    if (status == NATS_OK) {
      acknowledged(answer.get());
    } else if (status == NATS_NO_RESPONDERS) {
      // The library does not say for which message; all go to the same subject.
      try_all_again("no stream accepts the subject " + target_.subject);
    } else {
      look_for_a_loss();
    }
  }
}

void NatsPublisher::acknowledged(natsMsg* answer) {
  const std::string_view subject = natsMsg_GetSubject(answer);
  const std::string number(subject.substr(std::min(subject.size(), inbox_.size())));
  Waiting publication;
  {
    const std::lock_guard lock(mutex_);
    const auto found = unconfirmed_.find(std::strtoull(number.c_str(), nullptr, 10));
    if (found == unconfirmed_.end()) return;
    publication = std::move(found->second);
    unconfirmed_.erase(found);
  }
  publication->settle(read_answer(
      {natsMsg_GetData(answer), static_cast<std::size_t>(natsMsg_GetDataLength(answer))}));
}

void NatsPublisher::look_for_a_loss() {
  natsStatistics* statistics = nullptr;
  if (natsStatistics_Create(&statistics) != NATS_OK) return;
  std::uint64_t reconnects = reconnects_;
  if (natsConnection_GetStats(connection_.get(), statistics) == NATS_OK) {
    natsStatistics_GetCounts(statistics, nullptr, nullptr, nullptr, nullptr, &reconnects);
  }
  natsStatistics_Destroy(statistics);
  const bool was_lost = std::exchange(reconnects_, reconnects) != reconnects;
  if (!is_connected() || was_lost) try_all_again(kNotAcknowledged);
}

void NatsPublisher::try_all_again(const std::string& why) {
  std::map<std::uint64_t, Waiting> lost;
  {
    const std::lock_guard lock(mutex_);
    lost.swap(unconfirmed_);
  }
  for (const auto& [number, publication] : lost) publication->settle(Retry{why});
}

}  // namespace semel::relay
