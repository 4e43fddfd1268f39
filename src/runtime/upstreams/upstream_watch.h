#pragma once

#include <boost/asio/awaitable.hpp>
#include <map>
#include <memory>

#include "runtime/worker.h"

namespace semel::runtime {

// Looks after the upstreams of the configuration in force: asks those of routes with `health`
// whether they are well, and resolves names again. Runs on one worker; the others are told when a
// name has other addresses.
class UpstreamWatch {
 public:
  explicit UpstreamWatch(Worker& worker) : worker_(worker) {}
  UpstreamWatch(const UpstreamWatch&) = delete;
  UpstreamWatch& operator=(const UpstreamWatch&) = delete;

  // Runs until the worker's loop ends.
  boost::asio::awaitable<void> run();

 private:
  using Instant = Endpoint::Instant;
  // Something that is done again and again, once at a time.
  struct Task {
    Instant next{};
    bool is_running = false;
    bool is_wanted = true;  // in the configuration in force
  };
  struct Check : Task {
    std::shared_ptr<const http::TlsClient> tls;
  };

  void begin_lookups();
  void begin_checks();
  boost::asio::awaitable<void> look_up(EndpointSetPtr set);
  boost::asio::awaitable<void> resolve(EndpointSet& set);
  boost::asio::awaitable<void> check(EndpointPtr endpoint);
  // Returns what is wrong; "": nothing.
  boost::asio::awaitable<std::string> ask(const Endpoint& endpoint,
                                          std::shared_ptr<const http::TlsClient> tls);
  void conclude(Endpoint& endpoint, const std::string& wrong);

  Worker& worker_;
  std::map<EndpointSetPtr, Task> lookups_;
  std::map<EndpointPtr, Check> checks_;
};

}  // namespace semel::runtime
