#include "execution/answer/stream.h"

#include <fmt/format.h>

namespace semel::execution {
namespace asio = boost::asio;
using asio::awaitable;

AnswerStream::AnswerStream(runtime::Services& services, const config::RouteConfig& route,
                           UpstreamCall& call, const AnswerSink& answers, AnswerKeeper* keeper)
    : services_(services),
      route_(route),
      call_(call),
      client_(answers.client()),
      keeper_(keeper),
      pace_(client_ ? client_->limits().body_timeout : Duration{0}) {}

awaitable<AnswerStream::End> AnswerStream::run(const std::vector<Header>& headers,
                                               const std::vector<Header>& extra) {
  const http::Response& response = call_.response();
  const auto length = response.body_length();
  if (client_) {
    if (length) {
      end_ = BodyEnd::length;
    } else if (client_->message.http_version() < 11) {
      end_ = BodyEnd::close;
    }
    const std::string head =
        answer_head(*client_, response.status(), headers, extra, end_, length.value_or(0));
    co_await write(head);
  }
  const std::string begun = call_.take_body();
  if (!begun.empty()) co_await pass_on(begun);

  Duration waited{0};  // for the executor; a client that reads slowly is not its fault
  for (;;) {
    call_.set_deadline(route_.upstream_timeout);
    const SteadyTime asked = services_.clock.steady();
    const auto piece = co_await call_.next_piece();
    waited += services_.clock.steady() - asked;
    if (!piece || waited > route_.operation.max_execution) co_return End::cut;
    if (piece->empty()) co_return End::whole;
    co_await pass_on(*piece);
  }
}

awaitable<void> AnswerStream::pass_on(std::string_view piece) {
  if (keeper_) co_await keeper_->keep(piece);
  if (!client_) co_return;
  switch (end_) {
    case BodyEnd::chunks: {
      const std::string size = fmt::format("{:x}\r\n", piece.size());
      co_await write(size, piece, "\r\n");
      break;
    }
    case BodyEnd::length:
    case BodyEnd::close: {
      const std::string earlier = std::exchange(held_back_, std::string(piece));
      if (!earlier.empty()) co_await write(earlier);
      break;
    }
  }
}

awaitable<void> AnswerStream::finish() {
  if (!client_) co_return;
  client_->give_up_slot();
  if (end_ == BodyEnd::chunks) {
    co_await write("0\r\n\r\n");
  } else {
    co_await write(held_back_);
  }
  if (client_) client_->client.clear_deadline();
}

awaitable<void> AnswerStream::write(std::string_view first, std::string_view second,
                                    std::string_view third) {
  if (co_await write_at_pace(*client_, pace_, first, second, third)) co_return;
  // The client is gone. The execution is not: it is read to its end and recorded.
  client_->keep_alive = false;
  client_ = nullptr;
}

}  // namespace semel::execution
