// The promise: a message is acknowledged only after ack() was called, or after the broker has
// confirmed its dead letter. Messages that a lost connection left unsettled come again.
#include "consume/sources/rabbitmq_source.h"

#include <poll.h>

#include <chrono>
#include <cstring>

#include "brokers/amqp_text.h"
#include "brokers/reconnect.h"
#include "consume/sources/amqp_message.h"
#include "telemetry/log.h"

namespace semel::consume {
namespace {

constexpr amqp_channel_t kConsumeChannel = 1;
constexpr amqp_channel_t kPublishChannel = 2;
constexpr const char* kConsumerTag = "semel";
constexpr auto kLookAtHeartbeatsEvery = std::chrono::milliseconds(2000);
constexpr timeval kNow{0, 0};
constexpr auto kConfirmsAtStop = std::chrono::seconds(5);
// A quorum queue counts how often a message came back, and gives it up at its delivery limit, which
// is 20 by default from RabbitMQ 4 on. From this count on the operator is warned.
constexpr const char* kDeliveryCountHeader = "x-delivery-count";
constexpr unsigned long kDeliveriesWorthAWord = 10;
// Says that the message's own headers are not in the letter.
const std::string kOmittedHeader = "Semel-Dead-Letter-Omitted";
// Tells which publication a returned dead letter belongs to.
constexpr const char* kPublishedHeader = "Semel-Published";

void set_headers(amqp_basic_properties_t& properties, std::vector<amqp_table_entry_t>& entries) {
  properties.headers.num_entries = static_cast<int>(entries.size());
  properties.headers.entries = entries.data();
}

void warn_of_delivery_limit(const BrokerMessage& message, const std::string& queue) {
  for (const Header& header : message.headers) {
    if (header.name != kDeliveryCountHeader) continue;
    if (std::strtoul(header.value.c_str(), nullptr, 10) < kDeliveriesWorthAWord) return;
    telemetry::log_repeating(
        config::LogLevel::warn, "a message comes back again and again", queue,
        {{"queue", queue},
         {"returned", header.value},
         {"why",
          "the queue drops a message at its delivery limit (20 by default since RabbitMQ "
          "4): raise the limit, or give the queue a dead-letter exchange"}});
    return;
  }
}

// Checked before anything is sent: after half a message the connection is of no use.
bool fit_a_frame(amqp_connection_state_t connection, amqp_basic_properties_t& properties) {
  constexpr std::size_t kFrameAndContentHeader = 64;  // 20, and some room
  std::string room(
      static_cast<std::size_t>(amqp_get_frame_max(connection)) - kFrameAndContentHeader, '\0');
  return amqp_encode_properties(AMQP_BASIC_CLASS, &properties, {room.size(), room.data()}) >= 0;
}

}  // namespace

std::expected<std::unique_ptr<Source>, std::string> RabbitmqSource::make(
    const config::ConsumeConfig& config) {
  auto address = brokers::parse_amqp_address(config.from);
  if (!address) return std::unexpected(config.route.name + ": from.url is not an AMQP URL");
  return std::unique_ptr<Source>(new RabbitmqSource(config, *std::move(address)));
}

RabbitmqSource::RabbitmqSource(const config::ConsumeConfig& config, brokers::AmqpAddress broker)
    : config_(config.from), dead_letters_(config.dead_letter), broker_(std::move(broker)) {}

RabbitmqSource::~RabbitmqSource() {
  stop();
}

std::vector<std::function<void()>> RabbitmqSource::threads() {
  return {[this] { run(); }};
}

void RabbitmqSource::run() {
  base::Backoff pause = brokers::reconnect_pauses();
  while (!stopping_) {
    Worked worked;
    auto connection = brokers::connect(broker_);
    if (connection) {
      connection_ = *std::move(connection);
      worked = open_channels();
    } else {
      worked = Trouble(std::move(connection.error()));
    }
    if (worked) {
      telemetry::log_event(config::LogLevel::info, "broker connected",
                           {{"broker", broker_.host}, {"queue", config_.queue}});
      pause.reset();
      worked = serve();
    }
    forget_connection();
    if (worked || stopping_) continue;
    telemetry::log_event(
        config::LogLevel::warn, "broker lost",
        {{"broker", broker_.host}, {"queue", config_.queue}, {"why", worked.error()}});
    callbacks_.lost();
    wait_for_events(pause.next());
    static_cast<void>(run_commands());  // for the connection that is gone: only refuses
  }
  static_cast<void>(run_commands());
}

void RabbitmqSource::wait_for_events(std::chrono::milliseconds timeout) {
  pollfd waits[2] = {{commands_.descriptor(), POLLIN, 0}, {-1, POLLIN, 0}};
  if (connection_) waits[1].fd = amqp_get_sockfd(connection_.get());
  const auto until = std::chrono::steady_clock::now() + timeout;
  do {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    poll(waits, 2, static_cast<int>(std::max<std::int64_t>(0, left.count())));
    // Without a connection there is nothing to do until then but refuse.
    if (!connection_) static_cast<void>(run_commands());
  } while (!connection_ && !stopping_ && std::chrono::steady_clock::now() < until);
}

RabbitmqSource::Worked RabbitmqSource::open_channels() {
  amqp_connection_state_t connection = connection_.get();
  amqp_channel_open(connection, kConsumeChannel);
  auto worked = brokers::check(amqp_get_rpc_reply(connection), "cannot open a channel");
  if (!worked) return worked;
  worked = brokers::open_confirming_channel(connection, kPublishChannel);
  if (!worked) return worked;
  amqp_basic_qos(connection, kConsumeChannel, 0, static_cast<std::uint16_t>(config_.prefetch), 0);
  worked = brokers::check(amqp_get_rpc_reply(connection), "prefetch refused");
  if (!worked) return worked;
  // Before the first delivery, which must be current to be settled.
  ++connection_number_;
  published_ = 0;
  if (!fetching_) return {};
  amqp_basic_consume(connection, kConsumeChannel, brokers::bytes_of(config_.queue),
                     amqp_cstring_bytes(kConsumerTag), 0, 0, 0, amqp_empty_table);
  consuming_ = true;
  return brokers::check(amqp_get_rpc_reply(connection), "cannot consume");
}

void RabbitmqSource::forget_connection() {
  ++connection_number_;
  consuming_ = false;
  unsettled_.clear();
  connection_.reset();
  auto unconfirmed = std::exchange(unconfirmed_, {});
  for (auto& [number, published] : unconfirmed) published.done(false);
}

RabbitmqSource::Worked RabbitmqSource::serve() {
  std::optional<std::chrono::steady_clock::time_point> give_up;
  for (;;) {
    if (!fetching_ && std::exchange(consuming_, false)) {
      amqp_basic_cancel(connection_.get(), kConsumeChannel, amqp_cstring_bytes(kConsumerTag));
      auto worked = brokers::check(amqp_get_rpc_reply(connection_.get()), "cannot stop consuming");
      if (!worked) return worked;
    }
    const bool stopping = stopping_;  // read before the commands: none comes after it
    auto worked = run_commands();
    if (!worked) return worked;
    if (stopping) {
      const auto now = std::chrono::steady_clock::now();
      if (!give_up) give_up = now + kConfirmsAtStop;
      if (unconfirmed_.empty() || now > *give_up) {
        amqp_connection_close(connection_.get(), AMQP_REPLY_SUCCESS);
        return {};
      }
    }
    const auto more = read_one();
    if (!more) return Trouble(more.error());
    if (!*more) wait_for_events(kLookAtHeartbeatsEvery);
  }
}

RabbitmqSource::Worked RabbitmqSource::run_commands() {
  std::vector<std::uint64_t> acks;
  Worked worked;
  std::vector<Command> commands = commands_.take();
  for (Command& command : commands) {
    const bool settles = worked && connection_ && is_current(command.delivery) &&
                         unsettled_.contains(command.delivery.number);
    if (!settles) {
      if (command.done) command.done(false);
      continue;
    }
    switch (command.kind) {
      case Command::Kind::ack:
        acks.push_back(command.delivery.number);
        unsettled_.erase(command.delivery.number);
        break;
      case Command::Kind::give_back:
        unsettled_.erase(command.delivery.number);
        worked = brokers::check(
            amqp_basic_nack(connection_.get(), kConsumeChannel, command.delivery.number, 0, 1),
            "cannot give back");
        break;
      case Command::Kind::dead_letter:
        worked = publish_dead_letter(std::move(command));
        break;
    }
  }
  if (worked && !acks.empty()) worked = send_acks(std::move(acks));
  return worked;
}

// Acknowledges many messages with one frame, if nothing before the last of them is still unsettled.
RabbitmqSource::Worked RabbitmqSource::send_acks(std::vector<std::uint64_t> numbers) {
  std::ranges::sort(numbers);
  const std::uint64_t oldest_unsettled =
      unsettled_.empty() ? UINT64_MAX : unsettled_.begin()->first;
  const auto first_single = std::ranges::lower_bound(numbers, oldest_unsettled);
  Worked worked;
  if (first_single != numbers.begin()) {
    worked =
        brokers::check(amqp_basic_ack(connection_.get(), kConsumeChannel, *(first_single - 1), 1),
                       "cannot acknowledge");
  }
  for (auto number = first_single; worked && number != numbers.end(); ++number) {
    worked = brokers::check(amqp_basic_ack(connection_.get(), kConsumeChannel, *number, 0),
                            "cannot acknowledge");
  }
  return worked;
}

RabbitmqSource::Worked RabbitmqSource::publish_dead_letter(Command command) {
  const std::uint64_t delivery = command.delivery.number;
  if (dead_letters_.reject) {
    unsettled_.erase(delivery);
    auto worked = brokers::check(
        amqp_basic_nack(connection_.get(), kConsumeChannel, delivery, 0, 0), "cannot reject");
    command.done(worked.has_value());
    return worked;
  }
  const std::uint64_t number = ++published_;
  unconfirmed_[number] = {delivery, std::move(command.done)};

  amqp_basic_properties_t properties = unsettled_[delivery]->message.properties;
  std::vector<Header> added = headers_of(command.why);
  added.push_back({kPublishedHeader, std::to_string(number)});
  properties._flags |= AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG;
  properties.delivery_mode = AMQP_DELIVERY_PERSISTENT;
  // A dead letter must not expire where it is put aside; and only its publisher may claim a user
  // id.
  properties._flags &= ~(AMQP_BASIC_EXPIRATION_FLAG | AMQP_BASIC_USER_ID_FLAG);
  std::vector<amqp_table_entry_t> entries = brokers::with_headers(properties, added);
  set_headers(properties, entries);
  if (!fit_a_frame(connection_.get(), properties)) {
    added.push_back(
        {kOmittedHeader,
         "the message's own headers, which do not fit into a frame together with these"});
    properties.headers = {};
    entries = brokers::with_headers(properties, added);
    set_headers(properties, entries);
  }
  return brokers::check(
      amqp_basic_publish(connection_.get(), kPublishChannel,
                         brokers::bytes_of(dead_letters_.exchange),
                         brokers::bytes_of(dead_letters_.routing_key), /*mandatory=*/1, 0,
                         &properties, brokers::bytes_of(command.message->body)),
      "cannot publish a dead letter");
}

std::expected<bool, std::string> RabbitmqSource::read_one() {
  amqp_maybe_release_buffers(connection_.get());
  amqp_envelope_t envelope{};
  const amqp_rpc_reply_t reply = amqp_consume_message(connection_.get(), &envelope, &kNow, 0);
  if (reply.reply_type == AMQP_RESPONSE_NORMAL) {
    auto taken = take_delivery(envelope);
    if (!taken) return Trouble(taken.error());
    return true;
  }
  if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION) {
    if (reply.library_error == AMQP_STATUS_TIMEOUT) return false;
    if (reply.library_error == AMQP_STATUS_UNEXPECTED_STATE) {
      auto read = read_other_frame();
      if (!read) return Trouble(read.error());
      return true;
    }
  }
  return Trouble(brokers::describe(reply));
}

RabbitmqSource::Worked RabbitmqSource::take_delivery(amqp_envelope_t received) {
  Envelope envelope(new amqp_envelope_t(received));
  const std::uint64_t number = envelope->delivery_tag;
  if (!fetching_) {
    return brokers::check(amqp_basic_nack(connection_.get(), kConsumeChannel, number, 0, 1),
                          "cannot give back");
  }
  BrokerMessage message = to_message(*envelope);
  message.delivery = {connection_number_, number};
  warn_of_delivery_limit(message, config_.queue);
  amqp_bytes_free(std::exchange(envelope->message.body, amqp_empty_bytes));
  unsettled_[number] = std::move(envelope);
  callbacks_.delivered(std::move(message));
  return {};
}

RabbitmqSource::Worked RabbitmqSource::read_other_frame() {
  amqp_frame_t frame{};
  auto worked =
      brokers::check(amqp_simple_wait_frame_noblock(connection_.get(), &frame, &kNow), "no frame");
  if (!worked || frame.frame_type != AMQP_FRAME_METHOD) return worked;
  const amqp_method_t& method = frame.payload.method;
  switch (method.id) {
    case AMQP_BASIC_ACK_METHOD: {
      const auto* ack = static_cast<amqp_basic_ack_t*>(method.decoded);
      return confirmed(ack->delivery_tag, ack->multiple != 0, true);
    }
    case AMQP_BASIC_NACK_METHOD: {
      const auto* nack = static_cast<amqp_basic_nack_t*>(method.decoded);
      return confirmed(nack->delivery_tag, nack->multiple != 0, false);
    }
    case AMQP_BASIC_RETURN_METHOD:
      return returned();
    case AMQP_BASIC_CANCEL_METHOD:
      return Trouble("the broker ended the consumer; is the queue still there?");
    case AMQP_CHANNEL_CLOSE_METHOD:
      return Trouble(
          brokers::text_of(static_cast<amqp_channel_close_t*>(method.decoded)->reply_text));
    case AMQP_CONNECTION_CLOSE_METHOD:
      return Trouble(
          brokers::text_of(static_cast<amqp_connection_close_t*>(method.decoded)->reply_text));
    default:
      return {};
  }
}

RabbitmqSource::Worked RabbitmqSource::confirmed(std::uint64_t number, bool multiple, bool kept) {
  auto at = multiple ? unconfirmed_.begin() : unconfirmed_.find(number);
  Worked worked;
  while (at != unconfirmed_.end() && at->first <= number) {
    const Published published = std::move(at->second);
    at = unconfirmed_.erase(at);
    const bool is_kept = kept && !published.returned && worked;
    if (is_kept) {
      unsettled_.erase(published.delivery_number);
      worked = brokers::check(
          amqp_basic_ack(connection_.get(), kConsumeChannel, published.delivery_number, 0),
          "cannot acknowledge");
    } else if (published.returned) {
      telemetry::log_event(
          config::LogLevel::error, "no queue accepts the dead letters",
          {{"exchange", dead_letters_.exchange}, {"routing_key", dead_letters_.routing_key}});
    }
    published.done(is_kept);
    if (!multiple) break;
  }
  return worked;
}

RabbitmqSource::Worked RabbitmqSource::returned() {
  amqp_message_t message{};
  auto worked = brokers::check(amqp_read_message(connection_.get(), kPublishChannel, &message, 0),
                               "no message");
  if (!worked) return worked;
  for (const Header& header : brokers::headers_in(message.properties)) {
    if (header.name != kPublishedHeader) continue;
    const auto published = unconfirmed_.find(std::strtoull(header.value.c_str(), nullptr, 10));
    if (published != unconfirmed_.end()) published->second.returned = true;
  }
  amqp_destroy_message(&message);
  return {};
}

}  // namespace semel::consume
