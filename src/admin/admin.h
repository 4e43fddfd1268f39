#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <expected>
#include <string>

#include "admin/access.h"
#include "admin/admin_connections.h"
#include "admin/keys_api.h"
#include "http/target.h"
#include "server/listeners.h"
#include "server/process.h"

namespace semel::admin {

// The operator's listener: /healthz, /readyz, /metrics, /api/keys. Runs on the first worker of the
// process.
class Admin {
 public:
  static std::expected<std::unique_ptr<Admin>, std::string> start(
      server::Process& process, const server::Listeners& listeners);

  config::HostPort listening() const { return listening_; }

  // Reads the tokens as they are now; may wait for the disk. use() then puts them into effect, on
  // the thread of the first worker.
  static std::expected<AdminAccess, std::string> read_access(const config::Config& config);
  void use(AdminAccess access) { access_ = std::move(access); }

 private:
  Admin(server::Process& process, AdminAccess access, boost::asio::ip::tcp::acceptor acceptor);
  boost::asio::awaitable<void> accept();
  boost::asio::awaitable<void> serve(boost::asio::ip::tcp::socket socket);
  boost::asio::awaitable<Answer> answer(http::Connection& client, http::Request& request);
  boost::asio::awaitable<Answer> read(const http::Target& target);
  boost::asio::awaitable<Answer> change(http::Connection& client, http::Request& request,
                                        std::string path);
  Answer ready() const;
  std::string metrics() const;

  server::Process& process_;
  runtime::Services& services_;
  http::Deadlines& deadlines_;
  AdminAccess access_;
  KeysApi keys_;
  // Shared with connections that may outlive this object: they end with the worker's loop.
  const std::shared_ptr<AdminConnections> connections_ = std::make_shared<AdminConnections>();
  boost::asio::ip::tcp::acceptor acceptor_;
  config::HostPort listening_;
};

}  // namespace semel::admin
