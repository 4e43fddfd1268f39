#include "relay/destinations/http_destination.h"

#include <algorithm>

#include "execution/headers.h"
#include "http/answer_head.h"
#include "http/retry_after.h"
#include "relay/envelope.h"

namespace semel::relay {
namespace asio = boost::asio;
using asio::awaitable;
using net::IoError;

namespace {

constexpr std::size_t kAnswerBytesMax = 256 * 1024;
constexpr auto kIdleMax = std::chrono::seconds(2);

bool is_worth_another_try(int status) {
  return status == 408 || status == 409 || status == 425 || status == 429 || status >= 500 ||
         status < 400;
}

}  // namespace

HttpDestination::HttpDestination(RelayDestination config, asio::any_io_executor executor,
                                 net::Deadlines& deadlines, const Clock& clock,
                                 std::shared_ptr<const net::TlsClient> tls)
    : config_(std::move(config)),
      deadlines_(deadlines),
      clock_(clock),
      pool_(std::move(executor), deadlines, config_.url.address.host, config_.url.address.port,
            std::move(tls)) {}

std::expected<std::unique_ptr<HttpDestination>, std::string> HttpDestination::make(
    RelayDestination config, asio::any_io_executor executor, net::Deadlines& deadlines,
    const Clock& clock) {
  std::shared_ptr<const net::TlsClient> tls;
  if (config.url.tls) {
    auto loaded = net::TlsClient::load(config.tls);
    if (!loaded) return std::unexpected(std::move(loaded.error()));
    tls = *std::move(loaded);
  }
  return std::unique_ptr<HttpDestination>(new HttpDestination(
      std::move(config), std::move(executor), deadlines, clock, std::move(tls)));
}

// The error: the message cannot be expressed in HTTP.
std::expected<std::string, std::string> HttpDestination::head_of(const Message& message) const {
  const auto envelope = envelope_of(message, config_);
  if (!envelope) return std::unexpected(envelope.error());
  std::string head = "POST " + config_.url.target + " HTTP/1.1\r\n";
  append_header(head, "Host", config_.url.authority());
  append_header(head, "User-Agent", "semel/" SEMEL_VERSION);
  for (const Header& header : envelope->headers) append_header(head, header.name, header.value);
  for (const Header& attribute : envelope->attributes) {
    append_header(head, "ce-" + attribute.name, header_value_of(attribute.value));
  }
  append_header(head, "Content-Type", envelope->content_type);
  append_header(head, "Idempotency-Key", quoted_key(message.key));
  append_header(head, "Content-Length", std::to_string(message.payload.size()));
  return head + "\r\n";
}

awaitable<Outcome> HttpDestination::deliver(std::shared_ptr<const Message> message) {
  const auto head = head_of(*message);
  if (!head) co_return Refused{head.error()};
  co_return co_await exchange(*head, message->payload);
}

awaitable<Outcome> HttpDestination::exchange(const std::string& head, const std::string& body) {
  const auto give_up = deadlines_.now() + config_.timeout;
  const auto left = [&] {
    return std::chrono::duration_cast<Duration>(give_up - deadlines_.now());
  };
  std::unique_ptr<net::Connection> connection = pool_.take_idle(kIdleMax);
  bool reused = connection != nullptr;
  std::optional<net::Response> response;
  for (;;) {
    if (!connection) {
      auto connected = co_await pool_.connect(left());
      if (!connected) co_return Retry{std::move(connected.error())};
      connection = *std::move(connected);
    }
    connection->set_deadline(left());
    // An answer may come before everything was read, so a failure to write is ignored: reading the
    // answer decides.
    co_await connection->write(head, body);
    const auto answered = co_await net::read_answer_head(*connection, response);
    if (answered) break;
    // The connection was closed while it was idle. The message may have been taken: the key tells.
    const bool again = reused && answered.error() != IoError::timeout;
    if (!again) co_return Retry{net::describe_missing_answer(answered.error())};
    reused = false;
    connection.reset();
  }

  const int status = response->status();
  std::optional<Duration> after;
  if (const auto text = response->field("Retry-After")) {
    after = parse_retry_after(*text, clock_.now());
  }
  // The answer's body means nothing to us; it is read so that the connection can be used again.
  std::size_t bytes = 0;
  bool whole = false;
  while (bytes <= kAnswerBytesMax) {
    const auto piece = co_await connection->read_piece(*response);
    if (!piece) break;
    if (piece->empty()) {
      whole = true;
      break;
    }
    bytes += piece->size();
  }
  if (whole && response->is_done() && response->keep_alive()) {
    pool_.give_back(std::move(connection));
  }
  if (status >= 200 && status < 300) co_return Delivered{};
  const std::string why = "HTTP status " + std::to_string(status);
  if (is_worth_another_try(status)) co_return Retry{why, after};
  co_return Refused{why};
}

}  // namespace semel::relay
