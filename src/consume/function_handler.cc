// The promise: what a function has returned is recorded under its claim, and nothing else is. A
// function that threw, or never reported, may have acted: that is unknown, never "failed".
#include "consume/function_handler.h"

#include <simdjson.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <mutex>

#include "consume/consumed_message.h"
#include "engine/spawn.h"

namespace semel::consume {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

constexpr std::size_t kReasonLengthMax = 300;
constexpr std::size_t kResourceLengthMax = 1024;
// The longest wait of a timer that does not overflow its clock.
constexpr Duration kWaitMax = std::chrono::hours(24 * 365);

// Cleans text of the program's own, which goes into records, logs and the headers of dead letters.
std::string tidy(std::string text, std::size_t length_max) {
  if (text.size() > length_max) {
    std::size_t end = length_max;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    text.resize(end);
  }
  const bool is_utf8 = simdjson::validate_utf8(text.data(), text.size());
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < ' ' || byte == 0x7f) c = ' ';
    if (byte >= 0x80 && !is_utf8) c = '?';
  }
  return text;
}

bool is_status(int status) {
  return status >= 200 && status <= 599;
}

Outcome tidy(Outcome outcome, std::size_t body_bytes_max) {
  outcome.queue_again_after.reset();
  outcome.reason = tidy(std::move(outcome.reason), kReasonLengthMax);
  outcome.reason_code = ReasonCode::other;
  outcome.resource_type = tidy(std::move(outcome.resource_type), kResourceLengthMax);
  outcome.resource_id = tidy(std::move(outcome.resource_id), kResourceLengthMax);
  Answer& answer = outcome.answer;
  if (!is_status(answer.status)) answer.status = 0;
  answer.spilled_bytes = 0;
  answer.body_note = BodyNote::kept;
  if (answer.body.size() > body_bytes_max) {
    answer.body.clear();
    answer.body_note = BodyNote::omitted;
  }
  return outcome;
}

Outcome thrown(std::string what) {
  return unknown("the function threw" + (what.empty() ? "" : ": " + what));
}

Outcome call(const Handler& function, const Message& message, const Claim& claim) {
  try {
    return function(message, claim);
  } catch (const std::exception& error) {
    return thrown(error.what());
  } catch (...) {
    return thrown("");
  }
}

}  // namespace

// Leads back to the worker while there is one.
struct FunctionHandler::Link {
  explicit Link(asio::io_context& context_in) : context(&context_in) {}
  std::mutex mutex;
  asio::io_context* context;
};

struct FunctionHandler::Call {
  explicit Call(asio::io_context& context) : ended(context) {}
  asio::steady_timer ended;
  std::optional<Outcome> outcome;
};

FunctionHandler::FunctionHandler(runtime::Worker& worker, runtime::Route route,
                                 config::ConsumeConfig config, AsyncHandler function)
    : worker_(worker),
      route_(std::move(route)),
      config_(std::move(config)),
      function_(std::move(function)),
      link_(std::make_shared<Link>(worker.context())) {}

FunctionHandler::~FunctionHandler() {
  function_ = nullptr;  // ends its threads
  const std::lock_guard lock(link_->mutex);
  link_->context = nullptr;
}

void FunctionHandler::begin(const std::shared_ptr<Call>& call,
                            std::shared_ptr<const BrokerMessage> message, std::string key,
                            const EngineClaim& claim) {
  auto tell = [link = link_, call](Outcome outcome) {
    auto take = [call, moved = std::move(outcome)]() mutable {
      call->outcome = std::move(moved);
      call->ended.cancel();
    };
    const std::lock_guard lock(link->mutex);
    if (link->context) asio::post(*link->context, std::move(take));
  };
  const Done done(std::move(tell));
  try {
    function_(consume_message(std::move(message), std::move(key)), claim.plain(), done);
  } catch (const std::exception& error) {
    done(thrown(error.what()));
  } catch (...) {
    done(thrown(""));
  }
}

awaitable<void> FunctionHandler::returned(std::shared_ptr<Call> call) {
  boost::system::error_code ignored;
  call->ended.expires_at(asio::steady_timer::time_point::max());
  while (!call->outcome) {
    co_await call->ended.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
}

awaitable<void> FunctionHandler::execute(std::shared_ptr<const BrokerMessage> message,
                                         std::string key, EngineClaim claim, Slot slot) {
  const auto call = std::make_shared<Call>(worker_.context());
  call->ended.expires_after(std::min(config_.route.operation.max_execution, kWaitMax));
  const Clock& clock = worker_.services().clock;
  const SteadyTime started = clock.steady();
  begin(call, std::move(message), std::move(key), claim);
  boost::system::error_code ignored;
  co_await call->ended.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  route_.metrics().upstream_took(std::chrono::duration<double>(clock.steady() - started).count());
  if (call->outcome) {
    Outcome outcome = *std::move(call->outcome);
    co_await record(std::move(claim), std::move(outcome));
    co_return;
  }
  Outcome overdue = unknown("the function did not return within max_execution");
  co_await worker_.services().engine.finish(claim, std::move(overdue), Engine::Listening::yes);
  auto late = record_late(call, std::move(claim), std::move(slot));
  if (config_.route.operation.unknown == UnknownPolicy::retry) {
    co_await std::move(late);
  } else {
    asio::co_spawn(worker_.context(), std::move(late), engine::OrReport{"waiting for a function"});
  }
}

awaitable<void> FunctionHandler::record_late(std::shared_ptr<Call> call, EngineClaim claim,
                                             Slot slot) {
  co_await returned(call);
  Outcome outcome = *std::move(call->outcome);
  outcome.reason += ", late";
  try {
    co_await record(claim, std::move(outcome));
  } catch (const std::exception& error) {
    telemetry::log_event(config::LogLevel::error, "late outcome lost", {{"why", error.what()}});
    worker_.services().engine.stop_listening(claim);
  }
  slot.reset();
}

// With `completes: executor` the function's own transaction has completed the record, if it has
// committed: then the attempt to record "unknown" fails.
awaitable<void> FunctionHandler::record(EngineClaim claim, Outcome outcome) {
  outcome = tidy(std::move(outcome), config_.route.max_stored_body);
  const bool is_success = outcome.kind == OutcomeKind::final && outcome.answer.status < 400;
  if (is_success && config_.route.completes == config::Completes::executor) {
    outcome = unknown("the function returned without a committed record");
  }
  co_await worker_.services().engine.finish(std::move(claim), std::move(outcome));
}

AsyncHandler on_threads(Handler function, std::size_t threads) {
  return [pool = std::make_shared<asio::thread_pool>(threads),
          shared = std::make_shared<const Handler>(std::move(function))](Message message,
                                                                         Claim claim, Done done) {
    asio::post(*pool, [shared, message, claim, done] { done(call(*shared, message, claim)); });
  };
}

}  // namespace semel::consume
