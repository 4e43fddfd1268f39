// The promise: Delivered is said only after the broker has confirmed the message and has not
// returned it. A message that was unconfirmed when the connection was lost may have arrived; it is
// published again with the same message_id.
#include "relay/destinations/rabbitmq_publisher.h"

#include <algorithm>
#include <chrono>

#include "brokers/amqp_text.h"
#include "brokers/reconnect.h"
#include "telemetry/log.h"

namespace semel::relay {
namespace {

constexpr amqp_channel_t kChannel = 1;
constexpr timeval kNow{0, 0};
constexpr std::size_t kShortTextMax = 255;
constexpr auto kLookAtHeartbeatsEvery = std::chrono::milliseconds(2000);
constexpr const char* kNotConfirmed = "the connection was lost before the broker confirmed it";

}  // namespace

std::expected<std::unique_ptr<Publisher>, std::string> RabbitmqPublisher::make(
    const std::string& name, const config::BrokerTarget& target) {
  auto address = brokers::parse_amqp_address(target);
  if (!address) return std::unexpected("url is not an AMQP URL");
  return std::unique_ptr<Publisher>(new RabbitmqPublisher(name, target, *std::move(address)));
}

RabbitmqPublisher::RabbitmqPublisher(std::string name, const config::BrokerTarget& target,
                                     brokers::AmqpAddress address)
    : ThreadedPublisher(std::move(name), target), address_(std::move(address)) {
  begin([this] { run(); });
}

void RabbitmqPublisher::run() {
  base::Backoff pause = brokers::reconnect_pauses();
  while (!stopping_) {
    Worked worked = open();
    if (worked) {
      telemetry::log_event(config::LogLevel::info, "broker connected",
                           {{"destination", name_}, {"broker", address_.host}});
      pause.reset();
      worked = serve();
    }
    const std::string why = worked ? "the relay is stopping" : worked.error();
    connection_.reset();
    give_up(why);
    if (worked || stopping_) continue;
    telemetry::log_event(config::LogLevel::warn, "broker lost",
                         {{"destination", name_}, {"broker", address_.host}, {"why", why}});
    rest(pause.next(), why);
  }
  give_up("the relay is stopping");
}

RabbitmqPublisher::Worked RabbitmqPublisher::open() {
  auto connection = brokers::connect(address_);
  if (!connection) return std::unexpected(std::move(connection.error()));
  connection_ = *std::move(connection);
  published_ = 0;
  return brokers::open_confirming_channel(connection_.get(), kChannel);
}

void RabbitmqPublisher::give_up(const std::string& why) {
  for (auto& [number, sent] : std::exchange(unconfirmed_, {})) {
    sent.publication->settle(Retry{kNotConfirmed});
  }
  refuse_waiting(why);
}

RabbitmqPublisher::Worked RabbitmqPublisher::serve() {
  while (!stopping_) {
    if (Worked worked = send_waiting(); !worked) return worked;
    const auto more = read_one();
    if (!more) return std::unexpected(more.error());
    if (!*more) wait(kLookAtHeartbeatsEvery, amqp_get_sockfd(connection_.get()));
  }
  amqp_connection_close(connection_.get(), AMQP_REPLY_SUCCESS);
  return {};
}

RabbitmqPublisher::Worked RabbitmqPublisher::send_waiting() {
  Worked worked;
  for (const Waiting& publication : waiting_.take()) {
    if (publication->is_abandoned()) continue;
    if (worked) {
      worked = send(publication);
    } else {
      publication->settle(Retry{worked.error()});
    }
  }
  return worked;
}

RabbitmqPublisher::Worked RabbitmqPublisher::send(const Waiting& publication) {
  const Message& message = *publication->message;
  const Envelope& envelope = publication->envelope;
  std::vector<Header> headers = envelope.headers;
  for (const Header& attribute : envelope.attributes) {
    headers.push_back({"cloudEvents:" + attribute.name, attribute.value});
  }
  const bool fits = envelope.content_type.size() <= kShortTextMax &&
                    std::ranges::all_of(headers, [](const Header& header) {
                      return header.name.size() <= kShortTextMax;
                    });
  if (!fits) {
    publication->settle(Refused{"a header name or the content type is too long for AMQP"});
    return {};
  }
  amqp_basic_properties_t properties{};
  const std::vector<amqp_table_entry_t> entries = brokers::with_headers(properties, headers);
  properties._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG |
                      AMQP_BASIC_MESSAGE_ID_FLAG | AMQP_BASIC_TIMESTAMP_FLAG |
                      AMQP_BASIC_HEADERS_FLAG;
  properties.content_type = brokers::bytes_of(envelope.content_type);
  properties.delivery_mode = AMQP_DELIVERY_PERSISTENT;
  properties.message_id = brokers::bytes_of(message.key);
  properties.timestamp = static_cast<std::uint64_t>(
      std::chrono::floor<std::chrono::seconds>(message.enqueued_at.time_since_epoch()).count());
  properties.headers.num_entries = static_cast<int>(entries.size());
  properties.headers.entries = const_cast<amqp_table_entry_t*>(entries.data());

  forget_abandoned();
  unconfirmed_[++published_] = {publication};
  const int status =
      amqp_basic_publish(connection_.get(), kChannel, brokers::bytes_of(target_.exchange),
                         brokers::bytes_of(target_.routing_key), /*mandatory=*/1, 0, &properties,
                         brokers::bytes_of(message.payload));
  if (status == AMQP_STATUS_TABLE_TOO_BIG) {
    publication->settle(Refused{"its headers are larger than RabbitMQ accepts"});
  }
  return brokers::check(status, "cannot publish");
}

// Nobody waits for their confirmation any more.
void RabbitmqPublisher::forget_abandoned() {
  while (!unconfirmed_.empty() && unconfirmed_.begin()->second.publication->is_abandoned()) {
    unconfirmed_.erase(unconfirmed_.begin());
  }
}

std::expected<bool, std::string> RabbitmqPublisher::read_one() {
  amqp_maybe_release_buffers(connection_.get());
  amqp_frame_t frame{};
  const int status = amqp_simple_wait_frame_noblock(connection_.get(), &frame, &kNow);
  if (status == AMQP_STATUS_TIMEOUT) return false;
  if (auto worked = brokers::check(status, "connection lost"); !worked) {
    return std::unexpected(worked.error());
  }
  if (frame.frame_type != AMQP_FRAME_METHOD) return true;
  const amqp_method_t& method = frame.payload.method;
  switch (method.id) {
    case AMQP_BASIC_ACK_METHOD: {
      const auto* ack = static_cast<amqp_basic_ack_t*>(method.decoded);
      confirmed(ack->delivery_tag, ack->multiple != 0, true);
      return true;
    }
    case AMQP_BASIC_NACK_METHOD: {
      const auto* nack = static_cast<amqp_basic_nack_t*>(method.decoded);
      confirmed(nack->delivery_tag, nack->multiple != 0, false);
      return true;
    }
    case AMQP_BASIC_RETURN_METHOD: {
      auto worked = returned();
      if (!worked) return std::unexpected(worked.error());
      return true;
    }
    case AMQP_CHANNEL_CLOSE_METHOD:
      return std::unexpected(
          brokers::text_of(static_cast<amqp_channel_close_t*>(method.decoded)->reply_text));
    case AMQP_CONNECTION_CLOSE_METHOD:
      return std::unexpected(
          brokers::text_of(static_cast<amqp_connection_close_t*>(method.decoded)->reply_text));
    default:
      return true;
  }
}

void RabbitmqPublisher::confirmed(std::uint64_t number, bool multiple, bool kept) {
  auto at = multiple ? unconfirmed_.begin() : unconfirmed_.find(number);
  while (at != unconfirmed_.end() && at->first <= number) {
    const Sent sent = std::move(at->second);
    at = unconfirmed_.erase(at);
    if (sent.returned) {
      sent.publication->settle(Refused{"no queue accepts it: is one bound to the exchange?"});
    } else if (kept) {
      sent.publication->settle(Delivered{});
    } else {
      sent.publication->settle(Retry{"the broker did not accept it"});
    }
    if (!multiple) break;
  }
}

// A message is returned before it is confirmed, in the order of publishing.
RabbitmqPublisher::Worked RabbitmqPublisher::returned() {
  amqp_message_t message{};
  auto worked =
      brokers::check(amqp_read_message(connection_.get(), kChannel, &message, 0), "no message");
  if (!worked) return worked;
  const std::string key = brokers::text_of(message.properties.message_id);
  amqp_destroy_message(&message);
  for (auto& [number, sent] : unconfirmed_) {
    if (sent.returned || sent.publication->message->key != key) continue;
    sent.returned = true;
    break;
  }
  return {};
}

}  // namespace semel::relay
