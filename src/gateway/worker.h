#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <map>
#include <string>
#include <vector>

#include "gateway/gateway.h"
#include "gateway/introspect.h"
#include "gateway/settings.h"
#include "net/deadlines.h"
#include "net/upstream_pool.h"

namespace semel {

// One core's share: its own event loop, listeners and upstream connections. A request lives and
// dies on one worker; everything here is touched by its thread only, except post-like calls.
class Worker {
 public:
  Worker(Gateway& gateway, SettingsPtr settings);

  // Takes over a bound socket; accepts on it once the loop runs.
  void listen(boost::asio::ip::tcp::acceptor acceptor);
  // Runs the loop until it is stopped.
  void run();
  boost::asio::io_context& context() { return context_; }
  // Thread-safe: stops accepting and closes connections as they become idle.
  void drain();
  void stop() { context_.stop(); }

  Gateway& gateway() { return gateway_; }
  // What new requests are handled under.
  const SettingsPtr& settings() const { return settings_; }
  // Once it returns, new requests get these settings. May be called from any executor.
  boost::asio::awaitable<void> adopt(SettingsPtr settings);
  net::Deadlines& deadlines() { return deadlines_; }
  // The pool of the upstream that takes the route's next request.
  struct Picked {
    net::UpstreamPool& pool;
    const Upstream& upstream;
  };
  Picked pick_upstream(const SettingsPtr& settings, std::size_t route);
  // The pool for requests of our own to where `url` points.
  net::UpstreamPool& own_pool(const Url& url);
  IntrospectionCache& introspections() { return introspections_; }
  // The value of a Date header, made anew every second.
  const std::string& date();

 private:
  boost::asio::awaitable<void> accept(boost::asio::ip::tcp::acceptor& acceptor);
  void close_gently(boost::asio::ip::tcp::acceptor& acceptor);
  boost::asio::awaitable<void> prune();
  net::UpstreamPool& pool_of(const Settings& settings, std::size_t route, std::size_t upstream);
  void make_pools();

  Gateway& gateway_;
  SettingsPtr settings_;
  boost::asio::io_context context_{1};
  net::Deadlines deadlines_;
  std::vector<boost::asio::ip::tcp::acceptor> acceptors_;
  // One for each address and way to speak to it.
  struct PoolKey {
    std::string host;
    std::uint16_t port;
    std::optional<net::TlsClientFiles> tls;
    auto operator<=>(const PoolKey&) const = default;
  };
  std::map<PoolKey, net::UpstreamPool> pools_;
  struct RoutePools {
    std::vector<net::UpstreamPool*> pools;
    std::size_t next = 0;
  };
  std::vector<RoutePools> by_route_;  // of settings_
  IntrospectionCache introspections_;
  Time date_at_{};
  std::string date_;
};

}  // namespace semel
