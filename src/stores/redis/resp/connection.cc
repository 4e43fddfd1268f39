#include "stores/redis/resp/connection.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "engine/spawn.h"

namespace semel::stores::resp {
namespace asio = boost::asio;
using asio::awaitable;
using boost::system::error_code;

RespConnection::RespConnection(std::unique_ptr<http::Connection> connection,
                               asio::any_io_executor executor, Duration patience)
    : connection_(std::move(connection)),
      executor_(executor),
      patience_(patience),
      something_to_write_(executor),
      over_(executor) {
  something_to_write_.expires_at(asio::steady_timer::time_point::max());
  over_.expires_at(asio::steady_timer::time_point::max());
}

void RespConnection::start() {
  auto self = shared_from_this();
  const auto ending = [self](std::string_view task) {
    return [self, task](const std::exception_ptr& failed) {
      engine::OrReport{task}(failed);
      self->end("it ended");
    };
  };
  asio::co_spawn(executor_, read_all(), ending("reading from Redis"));
  asio::co_spawn(executor_, write_all(), ending("writing to Redis"));
}

void RespConnection::send(std::string_view wire, Done done) {
  if (!open_) {
    asio::post(executor_,
               [done = std::move(done)]() mutable { done(std::unexpected(RespLoss::not_sent)); });
    return;
  }
  if (pending_.empty()) connection_->set_deadline(patience_);
  out_ += wire;
  pending_.push_back({.done = std::move(done)});
  ++unwritten_;
  something_to_write_.cancel();
}

awaitable<RespResult> RespConnection::call(std::string wire) {
  auto initiate = [this, &wire](auto handler) {
    send(wire, [handler = std::move(handler)](RespResult result) mutable {
      std::move(handler)(std::move(result));
    });
  };
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(RespResult)>(
      initiate, asio::use_awaitable);
}

awaitable<void> RespConnection::write_all() {
  while (open_) {
    if (out_.empty()) {
      error_code ignored;
      co_await something_to_write_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
      continue;
    }
    writing_.clear();
    std::swap(out_, writing_);
    for (auto one = pending_.end() - static_cast<std::ptrdiff_t>(unwritten_); one != pending_.end();
         ++one) {
      one->is_written = true;
    }
    unwritten_ = 0;
    const auto written = co_await connection_->write(writing_);
    if (!written) end(connection_->timed_out() ? "the server does not answer" : "it was cut");
  }
}

awaitable<void> RespConnection::read_all() {
  while (open_) {
    const auto bytes = co_await connection_->read_some();
    if (!bytes) {
      if (bytes.error() == http::IoError::timeout) end("the server does not answer");
      end(bytes.error() == http::IoError::closed ? "the server closed it" : "it was cut");
      co_return;
    }
    reader_.feed(*bytes);
    if (!take_replies()) co_return;
    if (!open_) co_return;
    if (pending_.empty()) {
      connection_->clear_deadline();
    } else {
      connection_->set_deadline(patience_);
    }
  }
}

bool RespConnection::take_replies() {
  for (;;) {
    auto reply = reader_.next();
    if (!reply) {
      end("the server's reply is not RESP: " + reply.error());
      return false;
    }
    if (!*reply) return true;
    if (pending_.empty()) {
      if (push_) push_(**reply);
      continue;
    }
    Pending first = std::move(pending_.front());
    pending_.pop_front();
    first.done(std::move(**reply));
  }
}

void RespConnection::end(std::string why) {
  if (!std::exchange(open_, false)) return;
  why_ = std::move(why);
  connection_->clear_deadline();
  connection_->close();
  something_to_write_.cancel();
  over_.cancel();
  auto lost = std::exchange(pending_, {});
  for (Pending& one : lost) {
    const RespLoss how = one.is_written ? RespLoss::in_doubt : RespLoss::not_sent;
    asio::post(executor_,
               [done = std::move(one.done), how]() mutable { done(std::unexpected(how)); });
  }
}

void RespConnection::close() {
  end("it was closed");
}

awaitable<void> RespConnection::ended() {
  auto self = shared_from_this();
  while (open_) {
    error_code ignored;
    co_await over_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
}

}  // namespace semel::stores::resp
