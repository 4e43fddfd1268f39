// The promise: a message is acknowledged only after ack() was called, or after the stream of the
// dead letters has confirmed it. A message that is not acknowledged is delivered again after
// AckWait.
#include "consume/sources/nats_source.h"

#include <poll.h>

#include <chrono>

#include "telemetry/log.h"

namespace semel::consume {
namespace {

using std::chrono::milliseconds;

constexpr int kFetchBatchMax = 256;
constexpr std::int64_t kFetchTimeoutMs = 500;
constexpr std::int64_t kPublishTimeoutMs = 2000;
constexpr std::int64_t kFlushTimeoutMs = 5000;
constexpr std::int64_t kAckPendingMin = 1000;
constexpr auto kLookAfterConsumerEvery = std::chrono::seconds(2);
constexpr std::int64_t kNanosecondsPerMs = 1'000'000;
// How often per AckWait the server is told that a message is still being worked on.
constexpr int kExtendsPerAckWait = 3;

std::vector<Header> headers_in(natsMsg* message) {
  std::vector<Header> headers;
  const char** keys = nullptr;
  int count = 0;
  if (natsMsgHeader_Keys(message, &keys, &count) != NATS_OK) return headers;
  for (int i = 0; i < count; ++i) {
    const char** values = nullptr;
    int values_count = 0;
    if (natsMsgHeader_Values(message, keys[i], &values, &values_count) != NATS_OK) continue;
    for (int at = 0; at < values_count; ++at) headers.push_back({keys[i], values[at]});
    free(static_cast<void*>(values));
  }
  free(static_cast<void*>(keys));
  return headers;
}

// nullopt: the server did not say.
std::optional<std::int64_t> stream_created_at(jsCtx* jet_stream, const std::string& stream) {
  jsStreamInfo* info = nullptr;
  jsErrCode code{};
  if (js_GetStreamInfo(&info, jet_stream, stream.c_str(), nullptr, &code) != NATS_OK) {
    return std::nullopt;
  }
  const std::int64_t created_at = info->Created;
  jsStreamInfo_Destroy(info);
  return created_at;
}

}  // namespace

std::expected<std::unique_ptr<Source>, std::string> NatsSource::make(
    const config::ConsumeConfig& config) {
  return std::unique_ptr<Source>(new NatsSource(config, config.route.name));
}

NatsSource::NatsSource(const config::ConsumeConfig& config, std::string operation)
    : config_(config.from),
      dead_letter_subject_(config.dead_letter.subject),
      operation_(std::move(operation)) {}

NatsSource::~NatsSource() {
  stop();
}

std::vector<std::function<void()>> NatsSource::threads() {
  return {[this] { fetch_until_stopped(); }, [this] { settle_until_stopped(); }};
}

void NatsSource::stop_fetching() {
  {
    std::lock_guard lock(mutex_);
    fetching_ = false;
  }
  changed_.notify_all();
}

// --- the fetching thread ---------------------------------------------------------------------

void NatsSource::fetch_until_stopped() {
  while (fetching_) {
    auto opened = open();
    if (!opened) {
      telemetry::log_event(config::LogLevel::warn, "broker lost",
                           {{"stream", config_.stream}, {"why", opened.error()}});
      if (!pause(wait_.next())) return;
      continue;
    }
    telemetry::log_event(config::LogLevel::info, "broker connected",
                         {{"stream", config_.stream}, {"consumer", config_.consumer}});
    wait_.reset();
    {
      std::lock_guard lock(mutex_);
      link_ = *opened;
    }
    if (fetch_from(**opened)) return;
    opened->reset();
    drop_link();
  }
}

bool NatsSource::fetch_from(const Link& link) {
  bool was_lost = false;
  while (const int room = wait_for_room()) {
    natsMsgList list{};
    jsErrCode code{};
    const natsStatus status = natsSubscription_Fetch(
        &list, link.subscription.get(), std::min(room, kFetchBatchMax), kFetchTimeoutMs, &code);
    for (int i = 0; i < list.Count; ++i) take(Fetched(std::exchange(list.Msgs[i], nullptr)));
    natsMsgList_Destroy(&list);
    if (status == NATS_OK || status == NATS_TIMEOUT) {
      look_after_consumer(link);
      if (std::exchange(was_lost, false)) {
        telemetry::log_event(config::LogLevel::info, "broker connected",
                             {{"stream", config_.stream}});
        wait_.reset();
      }
      continue;
    }
    if (!std::exchange(was_lost, true)) {
      telemetry::log_event(config::LogLevel::warn, "broker lost",
                           {{"stream", config_.stream},
                            {"why", brokers::nats_failed("cannot fetch", status).error()}});
    }
    if (!pause(wait_.next())) return true;
    // The library reconnects by itself, but gives up for good when it was refused twice.
    if (link.is_closed()) return false;
    look_after_consumer(link);
  }
  return true;
}

// Drops the link. Its messages cannot be settled any more; the server delivers them again.
void NatsSource::drop_link() {
  std::shared_ptr<Link> link;
  std::map<std::uint64_t, Fetched> unsettled;  // goes first: messages refer to their subscription
  {
    std::lock_guard lock(mutex_);
    ++connection_number_;
    link = std::move(link_);
    link_.reset();
    unsettled.swap(unsettled_);
  }
  callbacks_.lost();
}

std::expected<std::shared_ptr<NatsSource::Link>, std::string> NatsSource::open() {
  const auto options = brokers::nats_options(config_, "semel consume");
  if (!options) return Trouble(options.error());
  auto connection = brokers::connect_nats(*options);
  if (!connection) return Trouble(connection.error());
  auto link = std::make_shared<Link>();
  link->connection = *std::move(connection);
  jsCtx* jet_stream = nullptr;
  const natsStatus status = natsConnection_JetStream(&jet_stream, link->connection.get(), nullptr);
  if (status != NATS_OK) return brokers::nats_failed("no JetStream", status);
  link->jet_stream.reset(jet_stream);
  Worked worked = find_consumer(*link);
  if (worked) worked = subscribe(*link);
  if (!worked) return Trouble(worked.error());
  return link;
}

// Somebody may have deleted the consumer. NATS 2.9 says nothing to a client that fetches from a
// consumer that is not there; 2.10 says so once, and then that nobody answers.
void NatsSource::look_after_consumer(const Link& link) {
  const auto now = std::chrono::steady_clock::now();
  if (now < look_after_consumer_at_) return;
  look_after_consumer_at_ = now + kLookAfterConsumerEvery;
  if (!link.is_connected()) return;
  if (const Worked found = find_consumer(link); !found) {
    telemetry::log_event(config::LogLevel::warn, "broker lost",
                         {{"stream", config_.stream}, {"why", found.error()}});
  }
}

// Uses the consumer as it is, if it can be used, or makes a new one.
NatsSource::Worked NatsSource::find_consumer(const Link& link) {
  jsConsumerInfo* info = nullptr;
  jsErrCode code{};
  const natsStatus status = js_GetConsumerInfo(&info, link.jet_stream.get(), config_.stream.c_str(),
                                               config_.consumer.c_str(), nullptr, &code);
  if (status == NATS_NOT_FOUND && code != JSStreamNotFoundErr) return make_consumer(link);
  if (status != NATS_OK) return brokers::nats_failed("no stream " + config_.stream, status);
  const std::unique_ptr<jsConsumerInfo,
                        brokers::NatsDestroy<jsConsumerInfo, jsConsumerInfo_Destroy>>
      found(info);
  const jsConsumerConfig& is = *found->Config;
  const bool is_pull = is.DeliverSubject == nullptr || *is.DeliverSubject == '\0';
  const bool is_explicit = is.AckPolicy == js_AckExplicit;
  const bool gives_up = is.MaxDeliver > 0;
  const bool is_short = is.AckWait < config_.ack_wait.count() * kNanosecondsPerMs;
  if (!is_pull || !is_explicit || gives_up || is_short) {
    return Trouble("the consumer " + config_.consumer +
                   " cannot be used: it must be a pull consumer with explicit acknowledgements, "
                   "no limit on deliveries (max_deliver -1) and an AckWait of at least ack_wait");
  }
  if (!progress_) {
    const auto created_at = stream_created_at(link.jet_stream.get(), config_.stream);
    if (created_at) progress_ = Progress{*created_at, 0};
  }
  if (progress_) progress_->acknowledged = found->AckFloor.Stream;
  return {};
}

// The new consumer goes on where the deleted one had been: older messages may have been done so
// long ago that their records are gone. If none was ever seen, or the stream was made anew, it
// begins with the first message.
NatsSource::Worked NatsSource::make_consumer(const Link& link) {
  const auto created_at = stream_created_at(link.jet_stream.get(), config_.stream);
  if (!created_at) return Trouble("cannot ask about the stream " + config_.stream);
  const bool goes_on = progress_ && progress_->stream_created_at == *created_at;
  if (!goes_on) progress_ = Progress{*created_at, 0};
  jsConsumerConfig wanted;
  jsConsumerConfig_Init(&wanted);
  wanted.Durable = config_.consumer.c_str();
  wanted.AckPolicy = js_AckExplicit;
  wanted.AckWait = config_.ack_wait.count() * kNanosecondsPerMs;
  wanted.MaxDeliver = -1;
  wanted.MaxAckPending =
      std::max<std::int64_t>(kAckPendingMin, 4 * static_cast<std::int64_t>(config_.prefetch));
  if (goes_on) {
    wanted.DeliverPolicy = js_DeliverByStartSequence;
    wanted.OptStartSeq = progress_->acknowledged + 1;
    telemetry::log_event(config::LogLevel::warn, "the consumer was deleted; creating it again",
                         {{"stream", config_.stream},
                          {"consumer", config_.consumer},
                          {"from", std::to_string(wanted.OptStartSeq)}});
  }
  jsConsumerInfo* made = nullptr;
  jsErrCode code{};
  const natsStatus status =
      js_AddConsumer(&made, link.jet_stream.get(), config_.stream.c_str(), &wanted, nullptr, &code);
  if (status != NATS_OK)
    return brokers::nats_failed("cannot create the consumer " + config_.consumer, status);
  jsConsumerInfo_Destroy(made);
  return {};
}

NatsSource::Worked NatsSource::subscribe(Link& link) {
  jsSubOptions options;
  jsSubOptions_Init(&options);
  options.Stream = config_.stream.c_str();
  options.Consumer = config_.consumer.c_str();
  options.ManualAck = true;
  natsSubscription* subscription = nullptr;
  jsErrCode code{};
  const natsStatus status = js_PullSubscribe(&subscription, link.jet_stream.get(), "",
                                             config_.consumer.c_str(), nullptr, &options, &code);
  if (status != NATS_OK) return brokers::nats_failed("cannot subscribe", status);
  link.subscription.reset(subscription);
  return {};
}

int NatsSource::wait_for_room() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !fetching_ || unsettled_.size() < config_.prefetch; });
  return fetching_ ? static_cast<int>(config_.prefetch - unsettled_.size()) : 0;
}

bool NatsSource::pause(std::chrono::milliseconds duration) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, duration, [this] { return !fetching_.load(); });
}

void NatsSource::take(Fetched fetched) {
  jsMsgMetaData* about = nullptr;
  if (natsMsg_GetMetaData(&about, fetched.get()) != NATS_OK) return;  // not from JetStream
  const std::uint64_t number = about->Sequence.Stream;
  BrokerMessage message;
  message.delivery = {connection_number_, number};
  message.redelivered = about->NumDelivered > 1;
  message.properties.push_back({"sequence", config_.stream + "/" + std::to_string(number)});
  jsMsgMetaData_Destroy(about);
  message.body.assign(natsMsg_GetData(fetched.get()),
                      static_cast<std::size_t>(natsMsg_GetDataLength(fetched.get())));
  message.headers = headers_in(fetched.get());
  for (const Header& header : message.headers) {
    if (header.name == "Nats-Msg-Id") message.properties.push_back({"msg_id", header.value});
    if (header.name == "Content-Type") message.content_type = header.value;
  }
  {
    std::lock_guard lock(mutex_);
    // After the server was away, a message may come again while it is being worked on: then it is
    // settled by its latest delivery.
    const bool is_new = !unsettled_.contains(number);
    unsettled_[number] = std::move(fetched);
    if (!is_new) return;
  }
  callbacks_.delivered(std::move(message));
}

// --- the settling thread ---------------------------------------------------------------------

void NatsSource::settle_until_stopped() {
  const auto every = config_.ack_wait / kExtendsPerAckWait;
  auto next = std::chrono::steady_clock::now() + every;
  for (;;) {
    const bool last = stopping_;
    for (Command& command : commands_.take()) settle(std::move(command));
    const auto now = std::chrono::steady_clock::now();
    if (now >= next) {
      keep_alive();
      next = now + every;
    }
    if (last) break;
    pollfd wait{commands_.descriptor(), POLLIN, 0};
    poll(&wait, 1, static_cast<int>(std::chrono::ceil<milliseconds>(next - now).count()));
  }
  if (const auto held = link()) {
    natsConnection_FlushTimeout(held->connection.get(), kFlushTimeoutMs);
  }
}

std::shared_ptr<NatsSource::Link> NatsSource::link() {
  std::lock_guard lock(mutex_);
  return link_;
}

NatsSource::Taken NatsSource::remove(const DeliveryId& delivery) {
  Taken taken;
  {
    std::lock_guard lock(mutex_);
    if (!is_current(delivery)) return taken;
    const auto found = unsettled_.find(delivery.number);
    if (found == unsettled_.end()) return taken;
    taken = {link_, std::move(found->second)};
    unsettled_.erase(found);
  }
  changed_.notify_all();
  return taken;
}

void NatsSource::settle(Command command) {
  if (command.kind == Command::Kind::dead_letter) {
    const auto held = link();
    const bool kept = held && publish_dead_letter(*held, command);
    if (kept) {
      if (const Taken taken = remove(command.delivery); taken.message) {
        natsMsg_Ack(taken.message.get(), nullptr);
      }
    }
    command.done(kept);
    return;
  }
  const Taken taken = remove(command.delivery);
  if (!taken.message) return;
  // If an acknowledgement is lost, the message comes again, and is recognized.
  if (command.kind == Command::Kind::ack) {
    natsMsg_Ack(taken.message.get(), nullptr);
  } else {
    natsMsg_Nak(taken.message.get(), nullptr);
  }
}

bool NatsSource::publish_dead_letter(const Link& link, const Command& command) {
  // While the server is away, each would take its whole timeout, and acknowledgements would wait
  // behind it.
  if (!link.is_connected()) return false;
  natsMsg* made = nullptr;
  if (natsMsg_Create(&made, dead_letter_subject_.c_str(), nullptr, command.message->body.data(),
                     static_cast<int>(command.message->body.size())) != NATS_OK) {
    return false;
  }
  const Fetched letter(made);
  for (const Header& header : command.message->headers) {
    // The server's own headers: the id would make it a duplicate of the message itself in the same
    // stream.
    if (header.name.starts_with("Nats-")) continue;
    natsMsgHeader_Add(letter.get(), header.name.c_str(), header.value.c_str());
  }
  for (const Header& header : command.message->properties) {
    const std::string name = header.name == "msg_id" ? "Semel-Message-Id" : "Semel-Sequence";
    natsMsgHeader_Set(letter.get(), name.c_str(), header.value.c_str());
  }
  for (const Header& header : headers_of(command.why)) {
    natsMsgHeader_Set(letter.get(), header.name.c_str(), header.value.c_str());
  }
  jsPubOptions options;
  jsPubOptions_Init(&options);
  options.MaxWait = kPublishTimeoutMs;
  jsPubAck* kept = nullptr;
  jsErrCode code{};
  const natsStatus status =
      js_PublishMsg(&kept, link.jet_stream.get(), letter.get(), &options, &code);
  jsPubAck_Destroy(kept);
  if (status == NATS_OK) return true;
  telemetry::log_event(config::LogLevel::error, "dead letter not kept",
                       {{"operation", operation_},
                        {"subject", dead_letter_subject_},
                        {"why", brokers::nats_failed("cannot publish", status).error()}});
  return false;
}

void NatsSource::keep_alive() {
  std::lock_guard lock(mutex_);
  for (const auto& [number, message] : unsettled_) natsMsg_InProgress(message.get(), nullptr);
}

}  // namespace semel::consume
