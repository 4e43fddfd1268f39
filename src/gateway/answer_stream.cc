#include "gateway/answer_stream.h"

#include <fmt/format.h>

namespace semel {
namespace asio = boost::asio;
using asio::awaitable;

AnswerStream::AnswerStream(ClientRequest& request, const RouteConfig& route, UpstreamCall& call,
                           bool to_client)
    : request_(request), route_(route), call_(call), client_listens_(to_client) {}

awaitable<AnswerStream::End> AnswerStream::run(const std::vector<Header>& headers,
                                               const std::vector<Header>& extra) {
  const net::Response& response = call_.response();
  const auto length = response.body_length();
  if (length) {
    end_ = BodyEnd::length;
  } else if (request_.message.http_version() < 11) {
    end_ = BodyEnd::close;
  }
  if (client_listens_) {
    const std::string head =
        answer_head(request_, response.status(), headers, extra, end_, length.value_or(0));
    co_await write(head);
  }
  const std::string begun = call_.take_body();
  if (!begun.empty()) co_await pass_on(begun);

  const Time give_up = after(request_.gateway().clock.now(), route_.policy.max_execution);
  for (;;) {
    call_.set_deadline(route_.upstream_timeout);
    const auto piece = co_await call_.next_piece();
    if (!piece || request_.gateway().clock.now() > give_up) co_return End::cut;
    if (piece->empty()) co_return End::whole;
    co_await pass_on(*piece);
  }
}

awaitable<void> AnswerStream::pass_on(std::string_view piece) {
  keep(piece);
  if (!client_listens_) co_return;
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
  request_.in_flight.reset();
  if (!client_listens_) {
    request_.keep_alive = false;
    co_return;
  }
  if (end_ == BodyEnd::chunks) {
    co_await write("0\r\n\r\n");
  } else {
    co_await write(held_back_);
  }
  request_.client.clear_deadline();
}

awaitable<void> AnswerStream::write(std::string_view first, std::string_view second,
                                    std::string_view third) {
  request_.client.set_deadline(request_.limits().body_timeout);
  if (co_await request_.client.write(first, second, third)) co_return;
  // The client is gone. The execution is not: it is read to its end and recorded.
  client_listens_ = false;
  request_.keep_alive = false;
}

void AnswerStream::keep(std::string_view piece) {
  if (note_ == BodyNote::omitted) return;
  stored_ += piece;
  if (stored_.size() > route_.max_stored_body) {
    stored_ = {};
    note_ = BodyNote::omitted;
  }
}

}  // namespace semel
