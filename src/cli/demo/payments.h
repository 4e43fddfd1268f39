#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "engine/system_clock.h"
#include "http/connection.h"

namespace semel::cli {

// A small payments API that knows nothing of keys: every POST /v1/charges is one more charge. It
// runs on a thread of its own, on a free port of the loopback.
class DemoPayments {
 public:
  DemoPayments();
  ~DemoPayments();

  std::uint16_t port() const { return port_; }
  int charges() const { return charges_; }
  // How long a charge takes from now on.
  void set_delay(Duration delay) { delay_ms_ = delay.count(); }
  // Returns when that many requests to charge have arrived since the start.
  void wait_for_arrivals(int count);
  int arrivals() const { return arrivals_; }

 private:
  boost::asio::awaitable<void> accept();
  boost::asio::awaitable<void> serve(boost::asio::ip::tcp::socket socket);
  boost::asio::awaitable<std::string> charge(std::string body);

  boost::asio::io_context context_{1};
  http::Deadlines deadlines_{context_.get_executor()};
  engine::SystemClock clock_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::uint16_t port_;
  std::atomic<int> charges_ = 0;
  std::atomic<int> arrivals_ = 0;
  std::atomic<std::int64_t> delay_ms_ = 0;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::thread thread_;
};

}  // namespace semel::cli
