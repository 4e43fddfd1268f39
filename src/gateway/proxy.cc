#include "gateway/proxy.h"

#include <fmt/format.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <utility>

#include "execution/answer/body_pace.h"
#include "execution/answer/circuit_open.h"
#include "execution/call_trace.h"
#include "http/answer_head.h"
#include "runtime/upstreams/upstream_link.h"

namespace semel::gateway {
namespace asio = boost::asio;
using asio::awaitable;
using http::IoError;

namespace {

// A request body up to this size is sent on in one piece, after it has arrived.
constexpr std::size_t kWholeBodyBytesMax = 64 * 1024;

bool may_be_repeated(std::string_view method) {
  for (const std::string_view safe : {"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"}) {
    if (method == safe) return true;
  }
  return false;
}

std::string chunk_size(std::size_t bytes) {
  return fmt::format("{:x}\r\n", bytes);
}
constexpr std::string_view kChunkEnd = "\r\n";
constexpr std::string_view kLastChunk = "0\r\n\r\n";

class Proxying {
 public:
  Proxying(execution::ClientRequest& request, const runtime::Route& route, ProxyWatcher* watcher)
      : request_(request),
        route_(route),
        config_(route.config()),
        limits_(request.limits()),
        upstream_(request.worker, route),
        watcher_(watcher),
        held_bytes_(request.services().buffered_bytes, request.peer),
        sending_(limits_.body_timeout),
        reading_(limits_.body_timeout) {}

  // False: the upstream was not asked.
  awaitable<bool> run();

 private:
  // False: what arrived is malformed.
  bool take_buffered_body();
  bool is_short() const;
  // Waits for the client no longer than its pace allows.
  awaitable<http::IoResult<std::string_view>> next_piece();
  // False: the request has been answered, or the client is gone.
  awaitable<bool> read_short_body();
  awaitable<void> refuse_late_body();
  std::string head(const execution::BodyFraming& framing) const;
  // Opens a connection that nothing was sent on. False: no upstream can be reached.
  awaitable<bool> open(bool again = false);
  awaitable<void> exchange_whole();
  awaitable<void> exchange_streaming();
  // False: the request has been answered.
  awaitable<bool> begin_streaming(const execution::BodyFraming& framing);
  awaitable<void> pump_request();
  awaitable<http::IoResult<void>> read_answer_head();
  awaitable<void> relay_answer();
  awaitable<void> relay_body(std::string head, execution::BodyEnd end);
  awaitable<void> fail(core::Code code, std::string detail);
  void lose_client();
  void give_back();

  execution::ClientRequest& request_;
  const runtime::Route& route_;
  const config::RouteConfig& config_;
  const config::LimitsConfig& limits_;
  runtime::UpstreamLink upstream_;
  runtime::Circuit::Pass pass_;
  ProxyWatcher* const watcher_;
  std::optional<http::Response> response_;
  std::string body_;  // what arrived with the head, or all of a short body
  runtime::HeldBytes held_bytes_;
  execution::ClientPace sending_;  // the client's pace in sending its body
  execution::ClientPace reading_;  // the client's pace in reading the answer
  telemetry::Trace::Part part_;    // the call
  bool answer_begun_ = false;
  bool answer_ended_ = false;
  bool request_sent_ = false;
  bool client_failed_ = false;
  bool late_body_ = false;
  std::string bad_body_;
};

// Takes a place only once the request can be sent on: a short body that trickles in keeps nobody
// else out.
awaitable<bool> Proxying::run() {
  // A trial is taken only once the request can be sent on: one that never arrives whole must not
  // keep the circuit open.
  if (co_await execution::refuse_open_circuit(request_, route_)) co_return false;
  if (!take_buffered_body()) {
    co_await fail(core::Code::bad_request, "The request's body is malformed.");
    co_return false;
  }
  if (is_short() && !co_await read_short_body()) co_return false;
  if (!co_await execution::take_slot_or_refuse(request_, route_)) co_return false;
  const auto pass = co_await execution::pass_circuit(request_, route_, true);
  if (!pass) co_return false;
  pass_ = *pass;
  part_ = {&request_.trace, request_.message.method(), telemetry::SpanKind::client};
  if (watcher_) watcher_->request_piece(body_);
  if (request_.message.is_done()) {
    if (watcher_) watcher_->request_done();
    co_await exchange_whole();
  } else {
    co_await exchange_streaming();
  }
  execution::note_answer(part_, upstream_ ? &upstream_.upstream() : nullptr,
                         response_ ? response_->status() : 0);
  co_return true;
}

bool Proxying::is_short() const {
  const auto length = request_.message.body_length();
  return !request_.message.is_done() && length && *length <= kWholeBodyBytesMax;
}

awaitable<http::IoResult<std::string_view>> Proxying::next_piece() {
  const http::Deadlines& clock = request_.worker.deadlines();
  request_.client.set_deadline(sending_.next());
  const auto begun = clock.now();
  auto piece = co_await request_.client.read_piece(request_.message);
  sending_.passed(piece ? piece->size() : 0, clock.now() - begun);
  co_return piece;
}

awaitable<bool> Proxying::read_short_body() {
  if (execution::expects_continue(request_)) {
    // Do not ask for a body that there is no place for.
    if (!co_await execution::take_slot_or_refuse(request_, route_)) co_return false;
    request_.give_up_slot();
    co_await execution::send_continue(request_);
  }
  while (!request_.message.is_done()) {
    const auto piece = co_await next_piece();
    if (!piece) {
      request_.keep_alive = false;
      if (piece.error() == IoError::timeout) co_await refuse_late_body();
      if (piece.error() == IoError::malformed) {
        co_await fail(core::Code::bad_request, "The request's body is malformed.");
      }
      co_return false;
    }
    body_ += *piece;
    if (!held_bytes_.recount(body_.capacity(), runtime::kBufferedBytesMax)) {
      request_.keep_alive = false;
      co_await fail(core::Code::overloaded, "Too many request bodies are being held.");
      co_return false;
    }
  }
  request_.client.clear_deadline();
  co_return true;
}

awaitable<void> Proxying::refuse_late_body() {
  request_.keep_alive = false;
  execution::count_result(request_, route_, telemetry::RequestResult::refused);
  core::Problem problem{.status = 408, .detail = "The request's body did not arrive in time."};
  co_await execution::send_problem(request_, problem, &config_);
}

bool Proxying::take_buffered_body() {
  while (!request_.message.is_done() && body_.size() < kWholeBodyBytesMax) {
    const auto piece = request_.client.buffered_piece(request_.message);
    if (!piece) return false;
    if (piece->empty()) break;
    body_ += *piece;
  }
  return true;
}

std::string Proxying::head(const execution::BodyFraming& framing) const {
  const execution::RequestHead head = request_.head();
  const execution::PassedOn passed_on(head.fields, request_.settings->config.tenant, config_);
  execution::KeyForwarding fields;
  execution::name_parent(part_, fields);
  return execution::upstream_head(head, passed_on, upstream_.upstream().base_path, framing,
                                  fields.drop, fields.add);
}

awaitable<bool> Proxying::open(bool again) {
  const auto opened = co_await (again ? upstream_.open_again() : upstream_.open());
  if (opened) co_return true;
  if (watcher_ && !request_sent_) watcher_->not_delivered();
  telemetry::log_event(config::LogLevel::warn, "upstream unreachable",
                       {{"route", config_.name}, {"why", opened.error()}});
  co_return false;
}

// Exchanges a request that is here as a whole. Sends it a second time only if the upstream provably
// got nothing of it, or if its method may be repeated and the connection had been idle.
awaitable<void> Proxying::exchange_whole() {
  const bool has_body = !body_.empty() || request_.message.field("Content-Length") ||
                        request_.message.field("Transfer-Encoding");
  execution::BodyFraming framing;
  if (has_body) framing.length = body_.size();
  bool again = false;  // one upstream may have it: no other one gets it
  while (co_await open(again)) {
    const std::string request_head = head(framing);
    upstream_->set_deadline(config_.upstream_timeout);
    std::size_t sent_bytes = 0;
    const auto written = co_await upstream_->write(request_head, body_, {}, &sent_bytes);
    request_sent_ = true;
    const auto answered = co_await read_answer_head();
    if (answered) {
      co_await relay_answer();
      co_return;
    }
    if (answered.error() == IoError::timeout) {
      co_await fail(core::Code::upstream_timeout, "The service did not answer in time.");
      co_return;
    }
    const bool untouched = !written && sent_bytes == 0;
    const bool repeatable =
        answered.error() == IoError::closed && may_be_repeated(request_.message.method());
    if (!untouched && !(repeatable && upstream_.was_idle())) break;
    again = !untouched;
  }
  co_await fail(core::Code::upstream_unreachable,
                "The service could not be reached or did not answer.");
}

// Sends the head, and as much of the body as has come. Turns to another upstream only while it can
// still send all of that again: later pieces are read only once this has been taken.
awaitable<bool> Proxying::begin_streaming(const execution::BodyFraming& framing) {
  const bool first_chunk = framing.chunked && !body_.empty();
  bool has_continued = false;
  while (co_await open()) {
    if (!std::exchange(has_continued, true)) co_await execution::send_continue(request_);
    std::string request_head = head(framing);
    if (first_chunk) request_head += chunk_size(body_.size());
    upstream_->set_deadline(config_.upstream_timeout);
    std::size_t sent_bytes = 0;
    const auto written = co_await upstream_->write(
        request_head, body_, first_chunk ? kChunkEnd : std::string_view{}, &sent_bytes);
    if (!written && written.error() == IoError::timeout) {
      co_await fail(core::Code::upstream_timeout,
                    "The service did not accept the request in time.");
      co_return false;
    }
    if (written || sent_bytes > 0) co_return true;
  }
  co_await fail(core::Code::upstream_unreachable, "The service could not be reached.");
  co_return false;
}

// Exchanges a request whose body is still arriving. Both directions flow at once: an upstream may
// answer before it has read everything, or answer as it reads.
awaitable<void> Proxying::exchange_streaming() {
  using asio::experimental::awaitable_operators::operator&&;
  execution::BodyFraming framing;
  framing.length = request_.message.body_length();
  framing.chunked = !framing.length;
  if (!co_await begin_streaming(framing)) co_return;
  auto answer = [this]() -> awaitable<void> {
    const auto answered = co_await read_answer_head();
    if (answered) {
      co_await relay_answer();
    } else if (!client_failed_ && bad_body_.empty()) {
      const bool late = answered.error() == IoError::timeout;
      co_await fail(late ? core::Code::upstream_timeout : core::Code::upstream_unreachable,
                    late ? "The service did not answer in time." : "The service did not answer.");
    }
    answer_ended_ = true;
    if (!request_sent_) {
      // Nobody wants the rest of the body.
      request_.keep_alive = false;
      boost::system::error_code ignored;
      request_.client.socket().cancel(ignored);
      if (upstream_) upstream_->close();
    }
  };
  // Named, because a lambda must outlive the coroutine that it made.
  auto pump = pump_request();
  auto answering = answer();
  co_await (std::move(pump) && std::move(answering));
  request_.client.clear_deadline();
  if (answer_begun_) co_return;
  if (!bad_body_.empty())
    co_await fail(core::Code::bad_request, "The request's body is malformed.");
  if (late_body_) co_await refuse_late_body();
}

awaitable<void> Proxying::pump_request() {
  const bool chunked = !request_.message.body_length();
  while (!answer_ended_) {
    // While it is the client's turn to send, the upstream's time does not run.
    upstream_->clear_deadline();
    const auto piece = co_await next_piece();
    if (answer_ended_) co_return;
    if (!piece) {
      // The client is gone or sends nonsense: the upstream must not take this for the whole body.
      client_failed_ = piece.error() != IoError::malformed;
      late_body_ = piece.error() == IoError::timeout;
      if (!client_failed_) bad_body_ = "malformed";
      request_.keep_alive = false;
      upstream_->close();
      co_return;
    }
    if (watcher_) watcher_->request_piece(*piece);
    upstream_->set_deadline(config_.upstream_timeout);
    http::IoResult<void> written;
    if (!chunked) {
      written = co_await upstream_->write(*piece);
    } else if (piece->empty()) {
      written = co_await upstream_->write(kLastChunk);
    } else {
      const std::string size = chunk_size(piece->size());
      written = co_await upstream_->write(size, *piece, kChunkEnd);
    }
    if (!written) co_return;  // the answer says why, if any came
    if (request_.message.is_done() && piece->empty()) break;
  }
  request_sent_ = !answer_ended_;
  if (watcher_ && request_sent_) watcher_->request_done();
  if (request_sent_) upstream_->set_deadline(config_.upstream_timeout);
}

awaitable<http::IoResult<void>> Proxying::read_answer_head() {
  const bool has_body = request_.message.method() != "HEAD";
  return http::read_answer_head(*upstream_, response_,
                                has_body ? http::AnswersBody::yes : http::AnswersBody::no);
}

awaitable<void> Proxying::relay_answer() {
  answer_begun_ = true;
  execution::report_to_circuit(request_, route_, pass_, response_->status());
  if (watcher_) watcher_->answered(*response_);
  const auto length = response_->body_length();
  execution::BodyEnd end = execution::BodyEnd::length;
  std::uint64_t announced = length.value_or(0);
  if (!length && !response_->is_done()) {
    end = request_.message.http_version() >= 11 ? execution::BodyEnd::chunks
                                                : execution::BodyEnd::close;
  }
  // An answer to HEAD announces the length that its GET would have, or none.
  const bool says_nothing = request_.message.method() == "HEAD" && !length;
  if (says_nothing) end = execution::BodyEnd::chunks;
  std::string head;
  head.reserve(512);
  http::append_status_line(head, response_->status());
  bool has_date = false;
  execution::for_client_fields(*response_, config_, false, [&](const http::Field& field) {
    http::append_header(head, field.name, field.value);
    has_date = has_date || http::iequals(field.name, "Date");
  });
  execution::end_head(request_, head, has_date, response_->status(), end, announced);
  return relay_body(std::move(head), end);
}

awaitable<void> Proxying::relay_body(std::string head, execution::BodyEnd end) {
  while (!response_->is_done()) {
    if (request_sent_) upstream_->set_deadline(config_.upstream_timeout);
    // Bytes that have arrived go out with the head, but the head does not wait for the body.
    auto piece = upstream_->buffered_piece(*response_);
    if (piece && piece->empty() && !response_->is_done()) {
      if (!head.empty()) {
        if (!co_await execution::write_at_pace(request_, reading_, head)) {
          lose_client();
          co_return;
        }
        head.clear();
      }
      piece = co_await upstream_->read_piece(*response_);
    }
    if (!piece) {
      // The answer was cut short: the client must see that, not a whole answer.
      execution::cut_off(request_);
      execution::count_result(request_, route_, telemetry::RequestResult::failed);
      co_return;
    }
    if (piece->empty()) break;
    if (response_->is_done()) request_.in_flight.reset();
    if (end == execution::BodyEnd::chunks) head += chunk_size(piece->size());
    const auto written = co_await execution::write_at_pace(
        request_, reading_, head, *piece,
        end == execution::BodyEnd::chunks ? kChunkEnd : std::string_view{});
    head.clear();
    if (!written) {
      lose_client();
      co_return;
    }
  }
  const bool closes_chunks =
      end == execution::BodyEnd::chunks && request_.message.method() != "HEAD";
  if (closes_chunks) head += kLastChunk;
  request_.in_flight.reset();
  if (!head.empty() && !co_await execution::write_at_pace(request_, reading_, head))
    request_.keep_alive = false;
  request_.client.clear_deadline();
  execution::count_result(request_, route_, telemetry::RequestResult::passed);
  if (watcher_) watcher_->answer_done();
  give_back();
}

void Proxying::lose_client() {
  request_.keep_alive = false;
  client_failed_ = true;
  // An enforcing route would have read the answer to its end.
  if (watcher_) watcher_->answer_done();
}

void Proxying::give_back() {
  if (request_sent_) upstream_.give_back(*response_);
}

awaitable<void> Proxying::fail(core::Code code, std::string detail) {
  answer_begun_ = true;
  execution::count_result(request_, route_, telemetry::RequestResult::failed);
  if (code == core::Code::bad_request) request_.keep_alive = false;
  if (code == core::Code::upstream_unreachable || code == core::Code::upstream_timeout) {
    execution::report_to_circuit(request_, route_, pass_, 0);
  }
  core::Problem problem{.code = code, .detail = std::move(detail)};
  co_await execution::send_problem(request_, problem, &config_);
}

}  // namespace

awaitable<bool> proxy(execution::ClientRequest& request, const runtime::Route& route,
                      ProxyWatcher* watcher) {
  Proxying proxying(request, route, watcher);
  co_return co_await proxying.run();
}

}  // namespace semel::gateway
