#pragma once

#include <boost/asio/awaitable.hpp>
#include <expected>
#include <string>

#include "admin/access/access.h"
#include "admin/decider.h"
#include "admin/keys_api.h"
#include "admin/live/live.h"
#include "admin/setup/setup_api.h"
#include "http/target.h"
#include "server/api_listener.h"
#include "server/listeners.h"
#include "server/process.h"

namespace semel::admin {

// The operator's listener: /healthz, /readyz, /metrics, and the API of docs/admin.md below /api.
// Runs on the first worker of the process.
class Admin {
 public:
  static std::expected<std::unique_ptr<Admin>, std::string> start(
      server::Process& process, const server::Listeners& listeners);

  config::HostPort listening() const { return listener_->listening(); }

  // Reads the tokens as they are now; may wait for the disk. use() then puts them into effect, on
  // the thread of the first worker.
  static std::expected<AdminAccess, std::string> read_access(const config::Config& config);
  void use(AdminAccess access);

 private:
  Admin(server::Process& process, AdminAccess access);
  boost::asio::awaitable<Answer> answer(server::ApiRequest& asked);
  boost::asio::awaitable<Answer> read(server::ApiRequest& asked, const http::Target& target);
  boost::asio::awaitable<Answer> read_keys(const http::Request& request,
                                           const http::Target& target);
  boost::asio::awaitable<Answer> change(server::ApiRequest& asked, std::string path);
  boost::asio::awaitable<Answer> explain(server::ApiRequest& asked);
  Answer ready() const;
  std::string metrics(telemetry::Metrics::Format format) const;

  server::Process& process_;
  runtime::Services& services_;
  AdminAccess access_;
  KeySearch search_;
  KeysApi keys_;
  Decider decider_;
  SetupApi setup_;
  Live live_;
  std::unique_ptr<server::ApiListener> listener_;
};

}  // namespace semel::admin
