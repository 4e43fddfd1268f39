// The promise: a message is acknowledged only when its record is completed, or when the broker has
// it among the dead letters. If this process dies in here, the broker delivers the message again,
// and the record tells what became of it: done, never begun, or unknown.
#include "consume/consumer.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/backoff.h"
#include "base/overloaded.h"
#include "base/random.h"
#include "consume/message_key.h"
#include "consume/request_fields.h"
#include "core/record_bytes.h"
#include "engine/spawn.h"
#include "execution/call.h"
#include "execution/description.h"
#include "runtime/waits.h"
#include "telemetry/notifier.h"

namespace semel::consume {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

constexpr Duration kLookAgainMin = std::chrono::milliseconds(200);
constexpr Duration kLookAgainMax = std::chrono::seconds(10);
// How long to wait at a time for somebody else's execution.
constexpr Duration kWaitForOther = std::chrono::seconds(5);
constexpr std::size_t kDetailLengthMax = 500;

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

}  // namespace

QueueConsumer::QueueConsumer(runtime::Worker& worker, runtime::Route route,
                             config::ConsumeConfig config, std::unique_ptr<Source> source,
                             std::unique_ptr<MessageHandler> handler)
    : worker_(worker),
      services_(worker.services()),
      route_(std::move(route)),
      config_(std::move(config)),
      source_(std::move(source)),
      handler_(std::move(handler)),
      metrics_(services_.metrics, config_.route.name) {
  // Posted, not called where a place becomes free: if nothing suspends, each message would begin
  // inside the one before.
  slots_->freed = [this] { asio::post(worker_.context(), [this] { pump(); }); };
}

QueueConsumer::~QueueConsumer() {
  slots_->freed = nullptr;
}

void QueueConsumer::start() {
  source_->start({.delivered =
                      [this](BrokerMessage message) {
                        asio::post(worker_.context(), [this, moved = std::move(message)]() mutable {
                          arrived(std::move(moved));
                        });
                      },
                  .lost = [this] { asio::post(worker_.context(), [this] { wake_all(); }); }});
}

void QueueConsumer::drain() {
  draining_ = true;
  source_->stop_fetching();
  wake_all();
  for (const Item& item : ready_) give_back(item.message->delivery);
  ready_.clear();
}

void QueueConsumer::wake_all() {
  for (asio::steady_timer& timer : pauses_) timer.cancel();
}

void QueueConsumer::arrived(BrokerMessage message) {
  if (draining_) {
    give_back(message.delivery);
    return;
  }
  const std::size_t bytes = message.body.size();
  Item item{std::make_shared<const BrokerMessage>(std::move(message)), "",
            runtime::Counted(services_.active), runtime::Counted(services_.buffered_bytes, bytes),
            metrics_.hold()};
  enqueue(std::move(item));
}

void QueueConsumer::give_back(const DeliveryId& delivery) {
  metrics_.count(MessageMetrics::End::returned);
  source_->give_back(delivery);
}

void QueueConsumer::enqueue(Item item) {
  ready_.push_back(std::move(item));
  pump();
}

void QueueConsumer::pump() {
  while (slots_->taken < config_.in_flight && !ready_.empty()) {
    Item item = std::move(ready_.front());
    ready_.pop_front();
    asio::co_spawn(worker_.context(), run(std::move(item), take_slot()),
                   engine::OrReport{"a message"});
  }
}

MessageHandler::Slot QueueConsumer::take_slot() {
  ++slots_->taken;
  return {slots_.get(), [slots = slots_](const void*) {
            --slots->taken;
            if (slots->freed) slots->freed();
          }};
}

awaitable<void> QueueConsumer::run(Item item, MessageHandler::Slot slot) {
  Next next = Again{kLookAgainMax};
  try {
    next = co_await step(item, std::move(slot));
  } catch (const std::exception& error) {
    telemetry::log_event(config::LogLevel::error, "message failed",
                         {{"operation", config_.route.name}, {"why", error.what()}});
  }
  co_await conclude(std::move(item), std::move(next));
}

awaitable<QueueConsumer::Next> QueueConsumer::step(Item& item, MessageHandler::Slot slot) {
  const BrokerMessage& message = *item.message;
  if (!source_->is_current(message.delivery)) co_return Again{Duration{0}};
  if (item.dead) co_return Dead{*item.dead};
  if (message.body.size() > config_.route.max_request_body) {
    co_return Dead{{.reason = "too-large",
                    .detail = "The message has more than " +
                              std::to_string(config_.route.max_request_body) + " bytes."}};
  }
  if (item.key.empty()) {
    auto key = find_message_key(config_.key, message);
    if (!key) co_return Dead{std::move(key.error())};
    item.key = *std::move(key);
  }
  Call call = call_for(item);
  call.fingerprint = co_await fingerprint_under(item.message, call.recipe);
  Admission admission = co_await services_.engine.admit(std::move(call));
  if (auto* execute_it = std::get_if<admission::Execute>(&admission)) {
    route_.metrics().count(telemetry::RequestResult::executed);
    item.looks = 0;
    co_return co_await execute(item, std::move(execute_it->claim), std::move(slot));
  }
  co_return next_after(item, admission);
}

QueueConsumer::Next QueueConsumer::next_after(Item& item, const Admission& admission) {
  telemetry::RouteMetrics& metrics = route_.metrics();
  const auto done = [&metrics](const auto&) -> Next {
    metrics.count(telemetry::RequestResult::replayed);
    return Done{};
  };
  const auto look_again = [this, &item](const auto&) -> Next {
    return Again{pause_after(++item.looks)};
  };
  return std::visit(
      base::Overloaded{
          [&](const admission::Replay& replay) { return done(replay); },
          [&](const admission::VersionChanged& changed) { return done(changed); },
          [&](const admission::Mismatch& mismatch) -> Next {
            metrics.count(telemetry::RequestResult::mismatch);
            return Dead{{.reason = "id-reused",
                         .detail = "Another message has used this id; what differs: " +
                                   joined(mismatch.differs) + ".",
                         .record = mismatch.record->id.hex()}};
          },
          [&](const admission::OutcomeUnknown& unknown) -> Next {
            metrics.count(telemetry::RequestResult::unknown);
            return judge(item, *unknown.record);
          },
          [&](const admission::Expired&) -> Next {
            metrics.count(telemetry::RequestResult::expired);
            return Dead{{.reason = "id-expired",
                         .detail = "The id was used before, and its record has expired since."}};
          },
          [&](const admission::Busy& busy) -> Next {
            metrics.count(telemetry::RequestResult::waited);
            return AfterOther{busy.record->id, busy.record->token};
          },
          [&](const StoreUnavailable& unavailable) { return look_again(unavailable); },
          // A message is neither queued nor counted against a limit, and one that is executed does
          // not come here.
          [&](const admission::Queued& queued) { return look_again(queued); },
          [&](const admission::NoRoom& no_room) { return look_again(no_room); },
          [&](const admission::TokenUsed& used) { return look_again(used); },
          [&](const admission::Execute& execute_it) { return look_again(execute_it); },
      },
      admission);
}

Call QueueConsumer::call_for(const Item& item) const {
  const runtime::ActiveConfig& settings = *worker_.settings();
  Scope scope{settings.config.name_space, "", config_.route.name};
  Call call = execution::make_call(settings, config_.route, std::move(scope), item.key);
  call.recipe = execution::recipe_of(config_.route.fingerprint, settings.key_material.hash_keys,
                                     item.message->content_type, false);
  call.fingerprint_under = [this, message = item.message](Recipe recipe) {
    return fingerprint_under(message, std::move(recipe));
  };
  call.trace = trace_of(*item.message);
  call.description =
      execution::describe(settings.config, "", "", config_.route.describe, item.message->body);
  return call;
}

// Compares only the body: everything else that a message carries may change from one delivery to
// the next.
awaitable<Fingerprint> QueueConsumer::fingerprint_under(
    std::shared_ptr<const BrokerMessage> message, Recipe recipe) const {
  RequestView view;
  view.body = message->body;
  view.header = [](std::string_view) { return std::nullopt; };
  co_return execution::fingerprint_under_key(make_fingerprint(recipe, view), recipe,
                                             worker_.settings()->key_material.hash_keys);
}

awaitable<QueueConsumer::Next> QueueConsumer::execute(Item& item, EngineClaim claim,
                                                      MessageHandler::Slot slot) {
  ++item.tries;
  const RecordPtr claimed = claim.record;
  co_await handler_->execute(item.message, item.key, std::move(claim), std::move(slot));

  // The durable record counts, not what was answered.
  const auto found = co_await services_.store.read(claimed->id);
  if (!found) co_return Again{pause_after(++item.looks)};
  const Record& record = *found ? **found : *claimed;
  const bool is_ours = record.token == claimed->token || record.state == RecordState::completed;
  if (!is_ours) co_return Again{pause_after(1)};
  co_return judge(item, record);
}

QueueConsumer::Next QueueConsumer::judge(Item& item, const Record& record) {
  switch (record.state) {
    case RecordState::completed:
      return Done{};
    case RecordState::unknown:
      if (config_.route.operation.unknown == UnknownPolicy::retry) {
        return retry_later(item, record, "outcome-unknown");
      }
      if (config_.route.operation.unknown == UnknownPolicy::probe) {
        return Again{pause_after(++item.looks)};
      }
      return Dead{
          {.reason = "outcome-unknown",
           .detail = "The handler was called, but it is not known whether it took effect: " +
                     record.reason + ".",
           .record = record.id.hex(),
           .attempt = record.attempt}};
    case RecordState::released:
      return retry_later(item, record, "attempts-exhausted");
    default:  // the outcome is not durable yet; the engine keeps trying
      return Again{pause_after(++item.looks)};
  }
}

// Attempts are counted by the record and here, because a record may expire in between.
QueueConsumer::Next QueueConsumer::retry_later(Item& item, const Record& record,
                                               std::string_view reason) {
  const std::uint32_t attempts = std::max(record.attempt, item.tries);
  if (attempts >= config_.max_attempts) {
    return Dead{{.reason = std::string(reason),
                 .detail = "Attempt " + std::to_string(attempts) +
                           " was the last one; it ended in: " + record.reason + ".",
                 .record = record.id.hex(),
                 .attempt = attempts}};
  }
  const Duration pause =
      base::jittered(base::backoff_after(attempts, config_.backoff_min, config_.backoff_max),
                     base::random_number());
  telemetry::log_event(config::LogLevel::info, "message will be retried",
                       {{"operation", config_.route.name},
                        {"record", core::shown_id(record.id)},
                        {"attempt", std::to_string(attempts)},
                        {"after_ms", std::to_string(pause.count())},
                        {"reason", record.reason}});
  return Again{pause};
}

Duration QueueConsumer::pause_after(std::uint32_t count) const {
  return base::jittered(base::backoff_after(count, kLookAgainMin, kLookAgainMax),
                        base::random_number());
}

awaitable<void> QueueConsumer::conclude(Item item, Next next) {
  const DeliveryId delivery = item.message->delivery;
  if (std::holds_alternative<Done>(next)) {
    metrics_.count(MessageMetrics::End::acknowledged);
    source_->ack(delivery);
    co_return;
  }
  if (auto* dead = std::get_if<Dead>(&next)) {
    DeadLetter why = std::move(dead->why);
    why.operation = config_.route.name;
    if (why.detail.size() > kDetailLengthMax) why.detail.resize(kDetailLengthMax);
    telemetry::log_event(config::LogLevel::warn, "dead letter",
                         {{"operation", why.operation},
                          {"reason", why.reason},
                          {"detail", why.detail},
                          {"record", why.record.substr(0, 16)}});
    if (co_await put_aside(item.message, why)) {
      metrics_.count(MessageMetrics::End::dead_letter);
      notify_dead(item, why);
      co_return;
    }
    item.dead = std::move(why);
    co_await pause(pause_after(++item.looks));
  } else if (const auto* other = std::get_if<AfterOther>(&next)) {
    const RecordId id = other->id;
    const Token token = other->token;
    const Waited waited = co_await services_.engine.wait(id, token, kWaitForOther);
    if (std::holds_alternative<waited::LookAgain>(waited)) {
      co_await runtime::wait_elsewhere(services_, id, token, kWaitForOther);
    }
  } else {
    co_await pause(std::get<Again>(next).after);
  }
  if (!source_->is_current(delivery)) {  // the broker delivers it again
    metrics_.count(MessageMetrics::End::lost);
    co_return;
  }
  if (draining_) {
    give_back(delivery);
    co_return;
  }
  enqueue(std::move(item));
}

void QueueConsumer::notify_dead(const Item& item, const DeadLetter& why) {
  if (!services_.notifier) return;
  services_.notifier->notify({.type = telemetry::kDeadLetterNotice,
                              .name = why.operation,
                              .at = services_.clock.now(),
                              .record = why.record,
                              .operation = why.operation,
                              .key = item.key,
                              .reason = why.reason + ": " + why.detail,
                              .attempt = why.attempt});
}

awaitable<bool> QueueConsumer::put_aside(std::shared_ptr<const BrokerMessage> message,
                                         DeadLetter why) {
  struct Waiting {
    asio::steady_timer timer;
    bool kept = false;
    bool done = false;
  };
  auto waiting = std::make_shared<Waiting>(asio::steady_timer(worker_.context()));
  waiting->timer.expires_at(asio::steady_timer::time_point::max());
  auto done = [this, waiting](bool kept) {
    asio::post(worker_.context(), [waiting, kept] {
      waiting->kept = kept;
      waiting->done = true;
      waiting->timer.cancel();
    });
  };
  source_->dead_letter(std::move(message), std::move(why), std::move(done));
  boost::system::error_code ignored;
  while (!waiting->done) {
    co_await waiting->timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  co_return waiting->kept;
}

awaitable<void> QueueConsumer::pause(Duration duration) {
  const auto timer = pauses_.emplace(pauses_.end(), worker_.context());
  timer->expires_after(duration);
  boost::system::error_code ignored;
  co_await timer->async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  pauses_.erase(timer);
}

}  // namespace semel::consume
