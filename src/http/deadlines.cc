#include "http/deadlines.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace semel::http {
namespace {
constexpr auto kTick = std::chrono::milliseconds(20);
}

void Deadline::set(Duration from_now) {
  at_ = deadlines_.now_ + from_now + kTick;
  expired_ = false;
  if (!is_linked()) deadlines_.list_.push_back(*this);
}

void Deadline::clear() {
  expired_ = false;
  if (is_linked()) unlink();
}

Deadlines::Deadlines(const boost::asio::any_io_executor& executor)
    : timer_(executor), now_(std::chrono::steady_clock::now()) {}

boost::asio::awaitable<void> Deadlines::run() {
  while (!stopped_) {
    timer_.expires_after(kTick);
    boost::system::error_code ignored;
    co_await timer_.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
    now_ = std::chrono::steady_clock::now();
    for (auto next = list_.begin(); next != list_.end();) {
      Deadline& deadline = *next++;
      if (deadline.at_ > now_) continue;
      deadline.expired_ = true;
      deadline.expire();
    }
  }
}

void Deadlines::stop() {
  stopped_ = true;
  timer_.cancel();
}

}  // namespace semel::http
