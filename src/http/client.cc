#include "http/client.h"

#include "http/answer_head.h"
#include "http/head.h"
#include "http/pooled_connection.h"

namespace semel::http {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

// Shorter than the idle timeouts of common servers.
constexpr auto kIdleMax = std::chrono::seconds(2);

std::string head_of(const std::string& authority, const Client::Request& request) {
  std::string head = request.method + " " + request.target + " HTTP/1.1\r\n";
  append_header(head, "Host", authority);
  for (const Header& header : request.headers) append_header(head, header.name, header.value);
  if (request.body) append_header(head, "Content-Length", std::to_string(request.body->size()));
  return head + "\r\n";
}

// Reads the body to its end. The error says why it is not whole.
awaitable<std::expected<void, std::string>> read_body(Connection& connection, Response& response,
                                                      const Client::Request& request,
                                                      std::string& body) {
  std::size_t bytes = 0;
  for (;;) {
    const auto piece = co_await connection.read_piece(response);
    if (!piece) co_return std::unexpected(describe_missing_answer(piece.error()));
    if (piece->empty()) co_return std::expected<void, std::string>{};
    bytes += piece->size();
    if (bytes > request.answer_bytes_max) {
      co_return std::unexpected("the answer's body is too large");
    }
    if (request.wants == Client::Request::Wants::all) body += *piece;
  }
}

}  // namespace

std::optional<std::string_view> Client::Answer::header(std::string_view name) const {
  for (const Header& field : headers) {
    if (iequals(field.name, name)) return field.value;
  }
  return std::nullopt;
}

awaitable<std::expected<Client::Answer, std::string>> Client::ask(Request request,
                                                                  Duration timeout) {
  const auto give_up = deadlines_.now() + timeout;
  const auto left = [&] {
    return std::chrono::duration_cast<Duration>(give_up - deadlines_.now());
  };
  const std::string head = head_of(authority_, request);
  const auto has_body = request.method == "HEAD" ? AnswersBody::no : AnswersBody::yes;
  const bool is_repeatable = request.is_repeatable || request.method == "GET";
  PooledConnection connection(pool_);
  std::optional<Response> response;
  bool is_sent = false;
  for (;;) {
    if (!connection.take_idle(kIdleMax)) {
      auto connected = co_await connection.connect(left());
      if (!connected) co_return std::unexpected(std::move(connected.error()));
    }
    connection->set_deadline(left());
    // A service may answer before it has read everything, so a failure to write is ignored: reading
    // the answer decides.
    const auto written =
        co_await connection->write(head, request.body.value_or(std::string_view{}));
    is_sent = written.has_value();
    const auto answered = co_await read_answer_head(*connection, response, has_body);
    if (answered) break;
    // The service closed the idle connection at that very moment.
    const bool again =
        connection.was_idle() && is_repeatable && answered.error() == IoError::closed;
    if (!again) co_return std::unexpected(describe_missing_answer(answered.error()));
  }

  Answer answer;
  answer.status = response->status();
  for (const Field& field : response->fields()) {
    answer.headers.push_back({std::string(field.name), std::string(field.value)});
  }
  auto whole = co_await read_body(*connection, *response, request, answer.body);
  if (!whole && request.wants == Request::Wants::all) {
    co_return std::unexpected(std::move(whole.error()));
  }
  if (whole && is_sent) connection.give_back(*response);
  co_return answer;
}

}  // namespace semel::http
