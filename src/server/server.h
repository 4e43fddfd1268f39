#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/blocking_pool.h"
#include "engine/system.h"
#include "execution/background.h"
#include "execution/prober.h"
#include "runtime/active_config.h"
#include "runtime/services.h"
#include "runtime/worker.h"

namespace semel {

// The running gateway: its workers, their threads, and the order in which it all ends.
class Server {
 public:
  // Binds every listener. `store` need not outlive anything else here: it is destroyed first. The
  // error is a sentence for the operator.
  static std::expected<std::unique_ptr<Server>, std::string> start(Config config,
                                                                   std::unique_ptr<Metrics> metrics,
                                                                   std::unique_ptr<Store> store);
  ~Server();

  // Returns the addresses that are listened on, with the ports that were picked.
  const std::vector<HostPort>& listening() const { return listening_; }
  Services& services() { return *services_; }
  // Returns the first worker's loop, for what runs once per process (the admin listener, signals).
  boost::asio::io_context& context() { return workers_.front()->context(); }
  net::Deadlines& deadlines() { return workers_.front()->deadlines(); }
  // Returns the worker for the index-th of the things that are spread over the workers.
  Worker& worker_for(std::size_t index) { return *workers_[index % workers_.size()]; }
  // Serves until stopped.
  void run();
  // Stops accepting, gives running work up to drain_timeout to finish, then makes run() return.
  void drain();
  // Handles new requests under `wanted`, and new connections with the certificates of
  // `key_material`, except for changes that need a restart, which it logs. Call it on context().
  boost::asio::awaitable<void> reload(Config wanted, KeyMaterial key_material);
  // As of the last reload. Call it on context().
  const Config& config() const { return settings_->config; }
  const ActiveConfig& settings() const { return *settings_; }

 private:
  explicit Server(Config config, KeyMaterial key_material, std::unique_ptr<Metrics> metrics,
                  std::unique_ptr<Store> store);
  std::expected<void, std::string> bind();
  boost::asio::awaitable<void> wait_until_idle();
  // Reloads the keys of tokens when their file changes.
  boost::asio::awaitable<void> follow_files();

  // Torn down explicitly, in ~Server: the threads of the store and of files_ first (they post to
  // the workers' loops), then the loops with whatever waits in them, then what that refers to.
  std::unique_ptr<Metrics> metrics_;
  SystemClock machine_clock_;
  SystemTokens tokens_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<BlockingPool> files_;
  ActiveConfigPtr settings_;
  std::unique_ptr<Services> services_;
  std::unique_ptr<Background> background_;
  std::unique_ptr<Prober> prober_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<HostPort> listening_;
};

}  // namespace semel
