#include "telemetry/poster.h"

#include <pthread.h>

#include "base/backoff.h"
#include "base/random.h"
#include "core/retry_after.h"
#include "engine/spawn.h"
#include "engine/system_clock.h"

namespace semel::telemetry {
namespace asio = boost::asio;

namespace {

// For everything: connecting, sending, the answer.
constexpr Duration kPostTimeout = std::chrono::seconds(10);
constexpr Duration kPauseMin = std::chrono::milliseconds(500);

}  // namespace

Poster::Poster(config::Url url, std::shared_ptr<const http::TlsClient> tls)
    : url_(std::move(url)),
      open_(asio::make_work_guard(context_)),
      deadlines_(context_.get_executor()),
      pool_(context_.get_executor(), deadlines_, url_.address.host, url_.address.port,
            std::move(tls)) {}

std::expected<std::unique_ptr<Poster>, std::string> Poster::start(const config::Url& url,
                                                                  const char* thread) {
  std::shared_ptr<const http::TlsClient> tls;
  if (url.tls) {
    auto loaded = http::TlsClient::load({});
    if (!loaded) return std::unexpected(std::move(loaded.error()));
    tls = *std::move(loaded);
  }
  std::unique_ptr<Poster> poster(new Poster(url, std::move(tls)));
  engine::spawn_loop(poster->context_.get_executor(), "watching deadlines",
                     [one = poster.get()] { return one->deadlines_.run(); });
  poster->thread_ = std::thread([one = poster.get()] { one->context_.run(); });
  ::pthread_setname_np(poster->thread_.native_handle(), thread);
  return poster;
}

void Poster::stop() {
  context_.stop();
  if (thread_.joinable()) thread_.join();
}

asio::awaitable<std::expected<http::Client::Answer, std::string>> Poster::post(
    std::string body, std::vector<Header> headers) {
  headers.push_back({"Content-Type", "application/json"});
  headers.push_back({"User-Agent", "Semel/" SEMEL_VERSION});
  http::Client::Request request;
  request.method = "POST";
  request.target = url_.target;
  request.headers = std::move(headers);
  request.body = body;
  // A collector takes spans by their ids, and a receiver of notifications goes by webhook-id.
  request.is_repeatable = true;
  http::Client client(pool_, deadlines_, url_.authority());
  co_return co_await client.ask(std::move(request), kPostTimeout);
}

Duration Poster::pause_after(std::uint32_t failures, Duration max,
                             const std::expected<http::Client::Answer, std::string>& answer) {
  const Duration own =
      base::jittered(base::backoff_after(failures, kPauseMin, max), base::random_number());
  const auto asked = answer ? answer->header("Retry-After") : std::nullopt;
  if (!asked) return own;
  return core::parse_retry_after(*asked, engine::SystemClock().now(), max).value_or(own);
}

}  // namespace semel::telemetry
