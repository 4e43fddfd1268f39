#include "relay/destinations/http_destination.h"

#include <algorithm>

#include "core/retry_after.h"
#include "execution/headers.h"
#include "relay/envelope.h"

namespace semel::relay {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

constexpr std::size_t kAnswerBytesMax = 256 * 1024;
// A destination cannot put off its messages for longer.
constexpr Duration kRetryAfterMax = std::chrono::hours(1);

bool is_worth_another_try(int status) {
  return status == 408 || status == 409 || status == 425 || status == 429 || status >= 500 ||
         status < 400;
}

}  // namespace

HttpDestination::HttpDestination(config::RelayDestination config, asio::any_io_executor executor,
                                 http::Deadlines& deadlines, const Clock& clock,
                                 std::shared_ptr<const http::TlsClient> tls)
    : config_(std::move(config)),
      deadlines_(deadlines),
      clock_(clock),
      pool_(std::move(executor), deadlines, config_.url.address.host, config_.url.address.port,
            std::move(tls)) {}

std::expected<std::unique_ptr<HttpDestination>, std::string> HttpDestination::make(
    config::RelayDestination config, asio::any_io_executor executor, http::Deadlines& deadlines,
    const Clock& clock) {
  std::shared_ptr<const http::TlsClient> tls;
  if (config.url.tls) {
    auto loaded = http::TlsClient::load(config.tls);
    if (!loaded) return std::unexpected(std::move(loaded.error()));
    tls = *std::move(loaded);
  }
  return std::unique_ptr<HttpDestination>(new HttpDestination(
      std::move(config), std::move(executor), deadlines, clock, std::move(tls)));
}

// The error: the message cannot be expressed in HTTP.
std::expected<http::Client::Request, std::string> HttpDestination::request_for(
    const Message& message) const {
  auto envelope = envelope_of(message, config_);
  if (!envelope) return std::unexpected(std::move(envelope.error()));
  http::Client::Request request;
  request.method = "POST";
  request.target = config_.url.target;
  request.headers = {{"User-Agent", "semel/" SEMEL_VERSION}};
  for (Header& header : envelope->headers) request.headers.push_back(std::move(header));
  for (const Header& attribute : envelope->attributes) {
    request.headers.push_back({"ce-" + attribute.name, header_value_of(attribute.value)});
  }
  request.headers.push_back({"Content-Type", std::move(envelope->content_type)});
  request.headers.push_back({"Idempotency-Key", execution::quoted_key(message.key)});
  request.body = message.payload;
  // The message may have been taken before the connection ended: the key tells.
  request.is_repeatable = true;
  // The answer's body means nothing to us.
  request.wants = http::Client::Request::Wants::head;
  request.answer_bytes_max = kAnswerBytesMax;
  return request;
}

Outcome HttpDestination::outcome_of(const http::Client::Answer& answer) const {
  if (answer.status >= 200 && answer.status < 300) return Delivered{};
  const std::string why = "HTTP status " + std::to_string(answer.status);
  if (!is_worth_another_try(answer.status)) return Refused{why};
  std::optional<Duration> after;
  if (const auto text = answer.header("Retry-After")) {
    after = core::parse_retry_after(*text, clock_.now(), kRetryAfterMax);
  }
  return Retry{why, after};
}

awaitable<Outcome> HttpDestination::deliver(std::shared_ptr<const Message> message) {
  auto request = request_for(*message);
  if (!request) co_return Refused{std::move(request.error())};
  http::Client client(pool_, deadlines_, config_.url.authority());
  const auto answer = co_await client.ask(*std::move(request), config_.timeout);
  if (!answer) co_return Retry{answer.error()};
  co_return outcome_of(*answer);
}

}  // namespace semel::relay
