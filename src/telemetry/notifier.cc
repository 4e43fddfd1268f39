#include "telemetry/notifier.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/base64.h"
#include "base/hmac.h"
#include "base/random.h"
#include "base/utf8.h"
#include "engine/spawn.h"
#include "engine/system_clock.h"
#include "telemetry/log.h"
#include "telemetry/tracing/span.h"

namespace semel::telemetry {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

// Types times operations. More than any configuration means; a bound all the same.
constexpr std::size_t kLanesMax = 1024;
constexpr Duration kSendEvery = std::chrono::seconds(1);
constexpr Duration kTryFor = std::chrono::minutes(15);
constexpr Duration kNoticePauseMax = std::chrono::minutes(1);
constexpr std::size_t kTextBytesMax = 1024;
constexpr std::size_t kDigestDigits = 16;  // as in the log

std::string new_message_id() {
  std::array<std::uint8_t, 16> bytes;
  base::fill_random(bytes.data(), bytes.size());
  return "msg_" + to_hex(bytes);
}

std::string text_of(std::string_view text) {
  return base::printable_utf8(text.substr(0, kTextBytesMax));
}

std::string time_text(Time at) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(at.time_since_epoch());
  return fmt::format("{:%FT%T}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(seconds.count())),
                     (at.time_since_epoch() - seconds).count());
}

std::string json_of(const Notice& notice, std::uint64_t count) {
  return boost::json::serialize(boost::json::object{{"type", notice.type},
                                                    {"at", time_text(notice.at)},
                                                    {"record", notice.record},
                                                    {"operation", text_of(notice.operation)},
                                                    {"tenant", text_of(notice.tenant)},
                                                    {"key", text_of(notice.key)},
                                                    {"reason", text_of(notice.reason)},
                                                    {"attempt", notice.attempt},
                                                    {"count", count}});
}

}  // namespace

std::expected<std::unique_ptr<Notifier>, std::string> Notifier::start(
    const config::NotifyConfig& config, config::LogKeys keys, Metrics& metrics) {
  auto poster = Poster::start(config.url, "semel-notify");
  if (!poster) return std::unexpected("notify: " + poster.error());
  return std::unique_ptr<Notifier>(new Notifier(*std::move(poster), config.secret, keys, metrics));
}

Notifier::Notifier(std::unique_ptr<Poster> poster, std::string secret, config::LogKeys keys,
                   Metrics& metrics)
    : secret_(std::move(secret)), keys_(keys), poster_(std::move(poster)) {
  auto& notifications = prometheus::BuildCounter()
                            .Name("semel_notifications_total")
                            .Help("Notifications of unknown outcomes and dead letters by result")
                            .Register(metrics.registry());
  sent_ = &notifications.Add({{"result", "sent"}});
  failed_ = &notifications.Add({{"result", "failed"}});
  dropped_ = &notifications.Add({{"result", "dropped"}});
}

Notifier::~Notifier() {
  poster_->stop();
}

void Notifier::use_hash_key(const core::HashKey* key) {
  const std::lock_guard lock(mutex_);
  hash_key_ = key ? std::optional(*key) : std::nullopt;
}

std::string Notifier::shown(const std::string& text) const {
  if (text.empty() || keys_ == config::LogKeys::full) return text;
  return core::key_digest(text, hash_key_ ? &*hash_key_ : nullptr).substr(0, kDigestDigits);
}

void Notifier::notify(Notice notice) {
  std::string name = fmt::format("{} {}", notice.type, notice.name);
  {
    const std::lock_guard lock(mutex_);
    const auto lane = lanes_.find(name);
    if (lane != lanes_.end()) {
      ++lane->second.count;
      if (lane->second.first) return;
    } else if (is_ending_ || lanes_.size() == kLanesMax) {
      dropped_->Increment();
      return;
    }
    notice.tenant = shown(notice.tenant);
    notice.key = shown(notice.key);
    if (lane != lanes_.end()) {
      lane->second.first = std::move(notice);
      return;
    }
    lanes_.try_emplace(name, Lane{std::move(notice), 1});
  }
  asio::co_spawn(poster_->context(), serve(std::move(name)), engine::OrReport{"notifying"});
}

void Notifier::finish(Duration at_most) {
  {
    std::unique_lock lock(mutex_);
    is_ending_ = true;
    asio::post(poster_->context(), [this] {
      for (asio::steady_timer& pause : pauses_) pause.cancel();
    });
    ended_.wait_for(lock, at_most, [this] { return lanes_.empty(); });
  }
  poster_->stop();
  if (lanes_.empty()) return;
  failed_->Increment(static_cast<double>(lanes_.size()));
  log_event(config::LogLevel::warn, "notifications not sent before the end",
            {{"notifications", std::to_string(lanes_.size())}});
}

bool Notifier::is_ending() {
  const std::lock_guard lock(mutex_);
  return is_ending_;
}

awaitable<void> Notifier::sleep(Duration duration) {
  if (is_ending()) co_return;
  const auto pause = pauses_.emplace(pauses_.end(), poster_->context());
  pause->expires_after(duration);
  boost::system::error_code ignored;
  co_await pause->async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  pauses_.erase(pause);
}

awaitable<void> Notifier::serve(std::string name) {
  for (;;) {
    std::string body;
    {
      const std::lock_guard lock(mutex_);
      const auto lane = lanes_.find(name);
      if (!lane->second.first) {
        lanes_.erase(lane);
        ended_.notify_all();
        co_return;
      }
      body = json_of(*lane->second.first, lane->second.count);
      lane->second = {};
    }
    co_await deliver(std::move(body));
    co_await sleep(kSendEvery);
  }
}

awaitable<void> Notifier::deliver(std::string body) {
  const std::string id = new_message_id();
  const engine::SystemClock clock;
  const SteadyTime give_up = after(clock.steady(), kTryFor);
  for (std::uint32_t tries = 1;; ++tries) {
    const bool is_last = is_ending();
    const std::string seconds = std::to_string(
        std::chrono::floor<std::chrono::seconds>(clock.now()).time_since_epoch().count());
    const base::Sha256Digest mac =
        base::hmac_sha256(secret_, fmt::format("{}.{}.{}", id, seconds, body));
    const std::string_view signature(reinterpret_cast<const char*>(mac.data()), mac.size());
    std::vector<Header> headers = {{"webhook-id", id},
                                   {"webhook-timestamp", seconds},
                                   {"webhook-signature", "v1," + base::encode_base64(signature)}};
    const auto answer = co_await poster_->post(body, std::move(headers));
    if (answer && answer->status >= 200 && answer->status < 300) {
      sent_->Increment();
      co_return;
    }
    const std::string why = answer ? "status " + std::to_string(answer->status) : answer.error();
    log_repeating(config::LogLevel::warn, "notification not accepted", "",
                  {{"why", why}, {"tries", std::to_string(tries)}});
    if (is_last || clock.steady() >= give_up) {
      failed_->Increment();
      log_event(config::LogLevel::error, "notification given up", {{"why", why}, {"body", body}});
      co_return;
    }
    co_await sleep(Poster::pause_after(tries, kNoticePauseMax, answer));
  }
}

}  // namespace semel::telemetry
