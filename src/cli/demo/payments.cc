#include "cli/demo/payments.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>

#include "engine/spawn.h"

namespace semel::cli {
namespace asio = boost::asio;
using asio::awaitable;
using asio::ip::tcp;

DemoPayments::DemoPayments()
    : acceptor_(context_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
      port_(acceptor_.local_endpoint().port()) {
  asio::co_spawn(context_, accept(), engine::OrReport{"the demo's service"});
  asio::co_spawn(context_, deadlines_.run(), engine::OrReport{"the demo's deadlines"});
  thread_ = std::thread([this] { context_.run(); });
}

DemoPayments::~DemoPayments() {
  context_.stop();
  thread_.join();
}

void DemoPayments::wait_for_arrivals(int count) {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [&] { return arrivals_ >= count; });
}

awaitable<void> DemoPayments::accept() {
  for (;;) {
    tcp::socket socket = co_await acceptor_.async_accept(asio::use_awaitable);
    asio::co_spawn(context_, serve(std::move(socket)), engine::OrReport{"the demo's service"});
  }
}

awaitable<void> DemoPayments::serve(tcp::socket socket) {
  http::Connection client(std::move(socket), deadlines_);
  for (;;) {
    http::Request request;
    std::string why;
    if (!co_await client.read_head(request, 16 * 1024, why)) co_return;
    std::string body;
    while (!request.is_done()) {
      const auto piece = co_await client.read_piece(request);
      if (!piece) co_return;
      body += *piece;
    }
    const bool charges = request.method() == "POST" && request.target() == "/v1/charges";
    const std::string answer = charges ? co_await charge(std::move(body))
                                       : fmt::format(R"({{"charges":{}}})", charges_.load());
    const std::string head =
        fmt::format("HTTP/1.1 {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                    charges ? "201 Created" : "200 OK", answer.size());
    if (!co_await client.write(head, answer)) co_return;
  }
}

awaitable<std::string> DemoPayments::charge(std::string body) {
  {
    const std::lock_guard lock(mutex_);
    ++arrivals_;
  }
  arrived_.notify_all();
  const int number = ++charges_;
  if (delay_ms_ > 0) co_await clock_.sleep(Duration(delay_ms_));
  boost::system::error_code error;
  const boost::json::value asked = boost::json::parse(body, error);
  std::int64_t amount = 0;
  if (!error && asked.is_object() && asked.as_object().contains("amount")) {
    amount = asked.at("amount").to_number<std::int64_t>(error);
  }
  co_return fmt::format(R"({{"id":"ch_{}","amount":{}}})", number, amount);
}

}  // namespace semel::cli
