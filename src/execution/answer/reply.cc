#include "execution/answer/reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "config/own_paths.h"
#include "execution/answer/cors.h"
#include "execution/answer/retry_after.h"

namespace semel::execution {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

bool has_body(int status) {
  return status >= 200 && status != 204 && status != 304;
}

bool named(const std::vector<Header>& headers, std::string_view name) {
  for (const Header& header : headers) {
    if (http::iequals(header.name, name)) return true;
  }
  return false;
}

// The rest of a refused request's body is read and thrown away if it is no longer than this.
constexpr std::uint64_t kDrainBytesMax = 64 * 1024;

// If nothing better is known.
constexpr Duration kRetryAfter = std::chrono::seconds(1);

// Answers are written in pieces, so that a client that reads slowly is seen to make progress.
constexpr std::size_t kPieceBytes = 64 * 1024;

bool is_worth_retrying(core::Code code) {
  switch (code) {
    case core::Code::in_progress:
    case core::Code::outcome_unknown:
    case core::Code::store_unavailable:
    case core::Code::overloaded:
    case core::Code::too_many_keys:
    case core::Code::authorization_unavailable:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool has_date(const std::vector<Header>& headers) {
  return named(headers, "Date");
}

std::string begin_head(int status, const std::vector<Header>& headers) {
  std::string head;
  head.reserve(512);
  http::append_status_line(head, status);
  for (const Header& header : headers) http::append_header(head, header.name, header.value);
  return head;
}

void count_result(ClientRequest& request, const runtime::Route& route,
                  telemetry::RequestResult result) {
  route.metrics().count(result, request.trace.trace_id());
  request.trace.set("semel.result", telemetry::to_string(result));
}

std::string trace_of(const ClientRequest& request) {
  if (request.trace) return request.trace.traceparent();
  return std::string(traceparent_of(request.message.fields()));
}

std::string answer_head(ClientRequest& request, int status, const std::vector<Header>& headers,
                        const std::vector<Header>& extra, BodyEnd end, std::uint64_t length) {
  std::string head = begin_head(status, headers);
  for (const Header& header : extra) http::append_header(head, header.name, header.value);
  end_head(request, head, has_date(headers), status, end, length);
  return head;
}

void end_head(ClientRequest& request, std::string& head, bool is_dated, int status, BodyEnd end,
              std::uint64_t length) {
  request.sent_status = status;
  if (!is_dated) http::append_header(head, "Date", request.worker.date());
  if (has_body(status)) {
    if (end == BodyEnd::chunks) http::append_header(head, "Transfer-Encoding", "chunked");
    if (end == BodyEnd::length) {
      http::append_header(head, "Content-Length", fmt::format_int(length).c_str());
    }
    if (end == BodyEnd::close) request.keep_alive = false;
  }
  if (request.services().draining) request.keep_alive = false;
  if (!request.keep_alive) {
    http::append_header(head, "Connection", "close");
  } else if (request.message.http_version() < 11) {
    http::append_header(head, "Connection", "keep-alive");
  }
  head.append("\r\n");
}

awaitable<void> send_answer(ClientRequest& request, const Answer& answer,
                            const std::vector<Header>& extra) {
  return send_whole(request,
                    answer_head(request, answer.status, answer.headers, extra, BodyEnd::length,
                                answer.body.size()),
                    answer);
}

awaitable<void> send_whole(ClientRequest& request, std::string head, const Answer& answer) {
  const bool head_only = request.message.method() == "HEAD" || !has_body(answer.status);
  const std::string_view body = head_only ? std::string_view{} : std::string_view(answer.body);
  request.give_up_slot();
  ClientPace pace(request.limits().body_timeout);
  std::string_view left = body.substr(std::min(kPieceBytes, body.size()));
  auto written = co_await write_at_pace(request, pace, head, body.substr(0, kPieceBytes));
  while (written && !left.empty()) {
    written = co_await write_at_pace(request, pace, left.substr(0, kPieceBytes));
    left.remove_prefix(std::min(kPieceBytes, left.size()));
  }
  request.client.clear_deadline();
  if (!written) request.keep_alive = false;
}

awaitable<http::IoResult<void>> write_at_pace(ClientRequest& request, ClientPace& pace,
                                              std::string_view first, std::string_view second,
                                              std::string_view third) {
  const http::Deadlines& clock = request.worker.deadlines();
  request.client.set_deadline(pace.next());
  const auto begun = clock.now();
  auto written = co_await request.client.write(first, second, third);
  pace.passed(first.size() + second.size() + third.size(), clock.now() - begun);
  co_return written;
}

bool reads_rest(const ClientRequest& request) {
  const auto length = request.message.body_length();
  return length && *length <= kDrainBytesMax && !request.message.field("Expect");
}

awaitable<void> send_problem(ClientRequest& request, const core::Problem& problem,
                             const config::RouteConfig* route, const std::vector<Header>& extra) {
  // Tell the client that it cannot send another request after the rest of this one.
  if (request.keep_alive && !request.message.is_done() && !reads_rest(request)) {
    request.keep_alive = false;
  }
  Answer answer = core::to_answer(problem, route ? route->errors : core::ErrorShape::problem);
  request.sent_code = core::to_string(problem.code);
  answer.headers.insert(answer.headers.end(), extra.begin(), extra.end());
  if (problem.code == core::Code::key_missing || problem.code == core::Code::key_invalid) {
    const std::string docs =
        route && !route->docs_url.empty() ? route->docs_url : std::string(config::kPolicyPath);
    answer.headers.push_back({"Link", "<" + docs + ">; rel=\"describedby\""});
  }
  if (problem.retry_after || is_worth_retrying(problem.code) || problem.status == 503) {
    answer.headers.push_back(
        {"Retry-After", retry_after_text(problem.retry_after.value_or(kRetryAfter))});
  }
  const std::string_view origin = request.message.field("Origin").value_or("");
  if (route) std::ranges::move(cors_headers(origin, *route), std::back_inserter(answer.headers));
  co_await send_answer(request, answer, {});
}

bool take_slot(ClientRequest& request) {
  request.in_flight.emplace(request.services().in_flight, request.peer);
  return request.in_flight->has_share_of(request.limits().in_flight);
}

awaitable<void> refuse_slot(ClientRequest& request, const runtime::Route& route) {
  count_result(request, route, telemetry::RequestResult::refused);
  core::Problem problem{.code = core::Code::overloaded,
                        .detail = "Too many requests are in flight. Retry with the same key."};
  co_await send_problem(request, problem, &route.config());
}

awaitable<bool> take_slot_or_refuse(ClientRequest& request, const runtime::Route& route) {
  if (take_slot(request)) co_return true;
  co_await refuse_slot(request, route);
  co_return false;
}

void cut_off(ClientRequest& request) {
  request.keep_alive = false;
  // To an HTTP/1.0 client the end of the connection is the end of the answer; a reset is not.
  if (request.message.http_version() < 11) request.client.reset_on_close();
  request.client.close();
}

bool expects_continue(const ClientRequest& request) {
  const auto expect = request.message.field("Expect");
  return expect && http::iequals(*expect, "100-continue") && !request.message.is_done() &&
         !request.client.has_unread() && request.message.http_version() >= 11;
}

awaitable<void> send_continue(ClientRequest& request) {
  if (!expects_continue(request)) co_return;
  request.client.set_deadline(request.limits().body_timeout);
  co_await request.client.write("HTTP/1.1 100 Continue\r\n\r\n");
}

}  // namespace semel::execution
