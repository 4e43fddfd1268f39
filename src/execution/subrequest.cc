#include "execution/subrequest.h"

#include "execution/headers.h"
#include "http/answer_head.h"

namespace semel {
namespace asio = boost::asio;
using asio::awaitable;
using net::IoError;

namespace {

constexpr auto kIdleMax = std::chrono::seconds(2);

std::string head_of(const Url& url, const SubRequest& request) {
  std::string head = request.method + " " + (request.target.empty() ? url.target : request.target) +
                     " HTTP/1.1\r\n";
  append_header(head, "Host", url.authority());
  for (const Header& header : request.headers) append_header(head, header.name, header.value);
  if (request.body) append_header(head, "Content-Length", std::to_string(request.body->size()));
  return head + "\r\n";
}

}  // namespace

std::optional<std::string_view> SubAnswer::header(std::string_view name) const {
  for (const Header& field : headers) {
    if (net::iequals(field.name, name)) return field.value;
  }
  return std::nullopt;
}

awaitable<std::expected<SubAnswer, std::string>> subrequest(Worker& worker, Url url,
                                                            SubRequest request, Duration timeout) {
  net::Deadlines& deadlines = worker.deadlines();
  const auto give_up = deadlines.now() + timeout;
  const auto left = [&] { return std::chrono::duration_cast<Duration>(give_up - deadlines.now()); };
  net::UpstreamPool& pool = worker.own_pool(url);
  const std::string head = head_of(url, request);
  std::unique_ptr<net::Connection> connection = pool.take_idle(kIdleMax);
  bool reused = connection != nullptr;
  const auto body = request.method == "HEAD" ? net::AnswersBody::no : net::AnswersBody::yes;
  std::optional<net::Response> response;
  for (;;) {
    if (!connection) {
      auto connected = co_await pool.connect(left());
      if (!connected) co_return std::unexpected(std::move(connected.error()));
      connection = *std::move(connected);
    }
    connection->set_deadline(left());
    // A service may answer before it has read everything, so a failure to write is ignored: reading
    // the answer decides.
    co_await connection->write(head,
                               request.body ? std::string_view(*request.body) : std::string_view{});
    const auto answered = co_await net::read_answer_head(*connection, response, body);
    if (answered) break;
    // The service closed the idle connection at that very moment: a GET may be sent again.
    const bool again = reused && request.method == "GET" && answered.error() == IoError::closed;
    if (!again) co_return std::unexpected(net::describe_missing_answer(answered.error()));
    reused = false;
    connection.reset();
  }

  SubAnswer answer;
  answer.status = response->status();
  for (const net::Field& field : response->fields()) {
    answer.headers.push_back({std::string(field.name), std::string(field.value)});
  }
  for (;;) {
    const auto piece = co_await connection->read_piece(*response);
    if (!piece) co_return std::unexpected(net::describe_missing_answer(piece.error()));
    if (piece->empty()) break;
    answer.body += *piece;
    if (answer.body.size() > request.answer_bytes_max) {
      co_return std::unexpected("the answer's body is too large");
    }
  }
  if (response->is_done() && response->keep_alive()) pool.give_back(std::move(connection));
  co_return answer;
}

}  // namespace semel
