#include "check/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace semel::check {

using Clock = std::chrono::steady_clock;

void Line::send_but(std::size_t keep_back) {
  if (!socket_ || !trouble_.empty()) return;
  const std::size_t until = bytes_.size() - std::min(keep_back, bytes_.size());
  if (until <= sent_) return;
  const auto done =
      socket_->send(std::string_view(bytes_).substr(sent_, until - sent_), deadline());
  sent_ = until;
  // The answer may be there although the peer takes no more: answer() decides.
  if (!done && !socket_->has_data(Milliseconds(0))) trouble_ = done.error();
}

void Line::send_twice() {
  bytes_ += std::string(bytes_);
  send_rest();
}

Answer Line::answer() {
  Answer none;
  none.trouble = trouble_;
  if (!socket_ || !trouble_.empty()) return none;
  return reader_.read(*socket_, request_.method, deadline());
}

void Line::next(const Request& request) {
  request_ = request;
  bytes_ = request_bytes(request, target_);
  sent_ = 0;
}

void Line::skip(std::size_t bytes) {
  // The answer may be shorter than the one it was measured by.
  constexpr Milliseconds kRest{500};
  if (!has_answer(timeout_)) return;
  AnswerReader::skip(*socket_, bytes, std::chrono::steady_clock::now() + kRest);
}

void Line::close() {
  if (socket_) socket_->close();
  socket_.reset();
}

void Line::reset() {
  if (socket_) socket_->reset();
  socket_.reset();
}

Client::Client(const Options& options, std::function<bool()> interrupted)
    : options_(options),
      interrupted_(std::move(interrupted)),
      tls_(options.tls),
      end_(Clock::now() + options.timeout),
      next_turn_(Clock::now()) {}

void Client::check_limits() const {
  if (interrupted_()) throw Stopped{"interrupted"};
  if (Clock::now() >= end_) {
    throw Stopped{
        fmt::format("the time is over (--timeout {} s)", options_.timeout.count() / 1000)};
  }
  if (requests_ >= options_.requests_max) {
    throw Stopped{fmt::format("the limit is reached (--max-requests {})", options_.requests_max)};
  }
}

void Client::pause(Milliseconds time) const {
  constexpr Milliseconds kGlance{50};
  const Deadline until = Clock::now() + time;
  while (Clock::now() < until) {
    check_limits();
    const auto left = std::chrono::ceil<Milliseconds>(until - Clock::now());
    std::this_thread::sleep_for(std::clamp(left, Milliseconds(0), kGlance));
  }
}

Line Client::open(const Request& request, bool paced) {
  check_limits();
  if (paced && options_.rate > 0) {
    const auto step =
        std::chrono::duration_cast<Clock::duration>(std::chrono::seconds(1)) / options_.rate;
    if (next_turn_ > Clock::now())
      pause(std::chrono::ceil<Milliseconds>(next_turn_ - Clock::now()));
    next_turn_ = std::max(next_turn_, Clock::now()) + step;
  }
  ++requests_;
  Line line;
  line.target_ = options_.target;
  line.timeout_ = options_.request_timeout;
  line.next(request);
  auto socket = Socket::connect(options_.target, tls_, line.deadline());
  if (socket) {
    line.socket_ = *std::move(socket);
  } else {
    line.trouble_ = "cannot connect: " + socket.error();
  }
  return line;
}

Answer Client::exchange(const Request& request) {
  Line line = open(request);
  line.send_rest();
  return line.answer();
}

Answer Client::get(const Target& target) {
  Request request{.method = "GET", .path = target.path, .fields = {{"Accept", "*/*"}}};
  const Deadline deadline = Clock::now() + options_.request_timeout;
  Answer none;
  auto socket = Socket::connect(target, tls_, deadline);
  if (!socket) {
    none.trouble = "cannot connect: " + socket.error();
    return none;
  }
  if (auto sent = socket->send(request_bytes(request, target), deadline); !sent) {
    none.trouble = sent.error();
    return none;
  }
  AnswerReader reader;
  return reader.read(*socket, request.method, deadline);
}

}  // namespace semel::check
