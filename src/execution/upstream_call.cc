#include "execution/upstream_call.h"

#include "execution/headers.h"
#include "http/answer_head.h"

namespace semel::execution {
namespace asio = boost::asio;
using asio::awaitable;
using http::IoError;

namespace {

bool is_event_stream(const http::Response& response) {
  const auto type = response.field("Content-Type");
  constexpr std::string_view kType = "text/event-stream";
  return type && type->size() >= kType.size() &&
         http::iequals(type->substr(0, kType.size()), kType);
}

bool announces_close(const http::Response& response) {
  return response.http_version() < 11 || names_option(response.fields(), "close");
}

}  // namespace

UpstreamCall::UpstreamCall(runtime::Worker& worker, runtime::Route route, Ending ending)
    : route_(std::move(route)), ending_(ending), link_(worker, route_) {}

UpstreamCall::MaybeDelivered UpstreamCall::maybe_delivered(Written written) {
  using Cause = MaybeDelivered::Cause;
  if (written == Written::late) return {Cause::timeout, "the request was not taken in time"};
  if (written == Written::unreadable) {
    return {Cause::broken, "the request's body could not be read back"};
  }
  return {Cause::broken, "the connection broke while the request was sent"};
}

awaitable<UpstreamCall::SendResult> UpstreamCall::send(MakeHead make_head,
                                                       const runtime::RequestBody& body) {
  for (;;) {
    auto opened = co_await link_.open();
    if (!opened) co_return NotDelivered{std::move(opened.error())};
    const std::string head = make_head(link_.upstream().base_path);
    link_->set_deadline(route_->upstream_timeout);
    std::size_t sent_bytes = 0;
    const Written written = co_await write_request(head, body, sent_bytes);
    if (written == Written::all) {
      sent_whole_ = true;
      co_return Sent{};
    }
    if (sent_bytes > 0) {
      co_return maybe_delivered(written);
    }
    if (written == Written::unreadable) {
      co_return NotDelivered{"the request's body could not be read back"};
    }
    // The kernel took no byte, so another connection is safe.
  }
}

awaitable<UpstreamCall::Written> UpstreamCall::write_request(const std::string& head,
                                                             const runtime::RequestBody& body,
                                                             std::size_t& sent_bytes) {
  const auto end_of = [](const http::IoResult<void>& written) {
    if (written) return Written::all;
    return written.error() == IoError::timeout ? Written::late : Written::broken;
  };
  if (!body.is_spooled()) {
    co_return end_of(co_await link_->write(head, body.text(), {}, &sent_bytes));
  }
  std::string_view first = head;
  for (std::uint64_t at = 0; at < body.size();) {
    const auto piece = co_await body.read(at, runtime::kSpooledAboveBytes);
    if (!piece) {
      telemetry::log_event(config::LogLevel::error, "request body lost", {{"why", piece.error()}});
      co_return Written::unreadable;
    }
    at += piece->size();
    const auto written = co_await link_->write(first, *piece, {}, &sent_bytes);
    if (!written) co_return end_of(written);
    first = {};
  }
  co_return Written::all;
}

awaitable<UpstreamCall::Received> UpstreamCall::receive(std::size_t body_bytes_max) {
  if (!head_done_) {
    const auto head = co_await http::read_answer_head(*link_, response_);
    if (!head) {
      co_return head.error() == IoError::timeout ? Received::timeout : Received::broken;
    }
    head_done_ = true;
  }
  const auto length = response_->body_length();
  if (!response_->is_done() &&
      (is_event_stream(*response_) || (length && *length > body_bytes_max))) {
    co_return Received::stream;
  }
  for (;;) {
    const auto piece = co_await next_piece();
    if (!piece) {
      co_return piece.error() == IoError::timeout ? Received::timeout : Received::broken;
    }
    if (piece->empty()) co_return Received::complete;
    body_ += *piece;
    if (body_.size() > body_bytes_max) co_return Received::stream;
  }
}

awaitable<http::IoResult<std::string_view>> UpstreamCall::next_piece() {
  auto piece = co_await link_->read_piece(*response_);
  const bool ended_by_close = piece && piece->empty() && response_->need_eof();
  // Over TLS, only the peer's orderly goodbye ends an answer, and a crashed peer does not say it.
  const bool is_cut =
      ending_ == Ending::announced && !link_->is_tls() && !announces_close(*response_);
  if (ended_by_close && is_cut) co_return std::unexpected(IoError::truncated);
  co_return piece;
}

void UpstreamCall::give_back() {
  // After an early answer the executor would take the next request for the rest of this one.
  if (sent_whole_ && response_) link_.give_back(*response_);
}

}  // namespace semel::execution
