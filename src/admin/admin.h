#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <expected>
#include <string>

#include "gateway/server.h"

namespace semel {

// The operator's listener: /healthz, /readyz, /metrics. Runs on the server's first worker.
class Admin {
 public:
  static std::expected<std::unique_ptr<Admin>, std::string> start(Server& server);

  HostPort listening() const { return listening_; }

 private:
  explicit Admin(Server& server);
  boost::asio::awaitable<void> accept();
  boost::asio::awaitable<void> serve(boost::asio::ip::tcp::socket socket);
  Answer answer(const net::Request& request) const;
  Answer ready() const;
  std::string metrics() const;

  Server& server_;
  Gateway& gateway_;
  net::Deadlines& deadlines_;
  boost::asio::ip::tcp::acceptor acceptor_;
  HostPort listening_;
};

}  // namespace semel
