#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "base/blocking_pool.h"
#include "execution/background.h"
#include "server/listeners.h"
#include "server/process.h"

namespace semel::server {

// The running gateway: a process that clients send requests to.
class Server {
 public:
  // Listens on every address. The error is a sentence for the operator.
  static std::expected<std::unique_ptr<Server>, std::string> start(
      config::Config config, std::unique_ptr<telemetry::Metrics> metrics,
      std::unique_ptr<Store> store, const Listeners& listeners);
  ~Server();

  // Returns the addresses that are listened on, with the ports that were picked.
  const std::vector<config::HostPort>& listening() const { return listening_; }
  Process& process() { return *process_; }
  boost::asio::io_context& context() { return process_->context(); }
  // A thread for reading files, which may block. What runs there may use the store and the log; the
  // thread is joined before anything of the server goes.
  base::BlockingPool& files() { return *files_; }
  // Serves until stopped.
  void run();
  // Stops accepting, gives running work up to drain_timeout to finish, then makes run() return.
  void drain() { process_->drain(); }
  // Handles new requests under `wanted`, and new connections with the certificates of
  // `key_material`, except for changes that need a restart, which it logs. Call it on context().
  boost::asio::awaitable<void> reload(config::Config wanted, runtime::KeyMaterial key_material);

 private:
  explicit Server(std::unique_ptr<Process> process);
  std::expected<void, std::string> listen(const Listeners& listeners);
  // Reloads the keys of tokens when their file changes.
  boost::asio::awaitable<void> follow_files();

  // Torn down explicitly, in ~Server: the thread of files_ first (it posts to the workers' loops),
  // then the loops with whatever waits in them, then what that refers to.
  std::unique_ptr<base::BlockingPool> files_;
  std::unique_ptr<Process> process_;
  std::unique_ptr<execution::Background> background_;
  std::vector<config::HostPort> listening_;
};

}  // namespace semel::server
