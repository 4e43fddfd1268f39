#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/intrusive/list.hpp>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "http/client.h"
#include "http/deadlines.h"
#include "http/pool.h"
#include "runtime/active_config.h"
#include "runtime/introspection_cache.h"
#include "runtime/route.h"
#include "runtime/services.h"
#include "runtime/upstreams/balancer.h"

namespace semel::runtime {

// One core's share: its own event loop, listeners and upstream connections. A request begins and
// ends on one worker; everything here is used by its thread only, except post-like calls.
class Worker {
 public:
  Worker(Services& services, ActiveConfigPtr settings);

  // Serves one client connection until it ends.
  using Serve = std::function<boost::asio::awaitable<void>(Worker&, boost::asio::ip::tcp::socket)>;
  // Takes over a bound socket. Once the loop runs, it accepts there, and `serve` gets the
  // connections of all sockets.
  void listen(boost::asio::ip::tcp::acceptor acceptor, Serve serve);
  // Runs the loop until it is stopped.
  void run();
  boost::asio::io_context& context() { return context_; }
  // Thread-safe: stops accepting and closes connections as they become idle.
  void drain();
  void stop() { context_.stop(); }

  Services& services() { return services_; }
  // The settings that new requests are handled under.
  const ActiveConfigPtr& settings() const { return settings_; }
  // Once it returns, new requests get these settings. May be called from any executor.
  boost::asio::awaitable<void> adopt(ActiveConfigPtr settings);
  http::Deadlines& deadlines() { return deadlines_; }
  // Returns where the route's next request goes; `tried` are those that it could not be sent to.
  // nullopt: all were tried.
  std::optional<UpstreamTarget> choose_upstream(
      const Route& route, std::span<const std::shared_ptr<EndpointPool>> tried);
  // Takes the endpoints that the upstreams of the settings have now. Thread-safe: done later.
  void follow_endpoints();
  // Returns a client for Semel's own requests to the service of `url`, to be used on this worker.
  http::Client client_to(const config::Url& url);
  IntrospectionCache& introspections() { return introspections_; }
  // A client's connection while it has no request, or will have no more. The longest idle one is
  // closed when others need its place.
  class Idle : public boost::intrusive::list_base_hook<> {
   public:
    Idle(Worker& worker, http::Connection& client, const ShareHolder* peer);
    ~Idle();
    Idle(const Idle&) = delete;
    Idle& operator=(const Idle&) = delete;

   private:
    friend class Worker;
    Worker& worker_;
    http::Connection& client_;
    const ShareHolder* const peer_;
    const std::chrono::steady_clock::time_point since_;
  };
  // Closes the longest idle connection of all workers. Returns false if none is idle.
  bool end_longest_idle();
  // Closes an idle connection of one peer, among those of this worker that are idle for longest.
  // Returns false if there is none.
  bool end_idle_of(const ShareHolder& peer);
  // Returns the value of a Date header, renewed every second.
  const std::string& date();

 private:
  boost::asio::awaitable<void> accept(boost::asio::ip::tcp::acceptor& acceptor);
  // Called when there is no descriptor for the next connection. Returns whether that client was
  // told so.
  bool turn_away(boost::asio::ip::tcp::acceptor& acceptor);
  void close_gently(boost::asio::ip::tcp::acceptor& acceptor);
  boost::asio::awaitable<void> prune();
  std::vector<UpstreamTarget> targets_of(const ActiveConfig& settings, std::size_t route);
  void make_balancers();
  // Lets go of pools whose endpoints are no longer used.
  void drop_pools();
  void end(Idle& idle);
  void note_longest_idle();

  Services& services_;
  Serve serve_;
  // Declared before context_: connections that are idle when context_ is destroyed then leave the
  // list.
  boost::intrusive::list<Idle, boost::intrusive::constant_time_size<false>> idle_;
  // Since when the first of idle_ is idle, for other workers; kNobody: there is none.
  using Ticks = std::chrono::steady_clock::rep;
  static constexpr Ticks kNobody = std::numeric_limits<Ticks>::max();
  std::atomic<Ticks> longest_idle_ = kNobody;
  ActiveConfigPtr settings_;
  boost::asio::io_context context_{1};
  http::Deadlines deadlines_;
  std::vector<boost::asio::ip::tcp::acceptor> acceptors_;
  // One pool per endpoint.
  std::map<EndpointPtr, std::shared_ptr<EndpointPool>> upstream_pools_;
  std::vector<Balancer> by_route_;  // of settings_
  // For requests of our own: one pool per address and TLS settings.
  struct PoolKey {
    std::string host;
    std::uint16_t port;
    std::optional<http::TlsClientFiles> tls;
    auto operator<=>(const PoolKey&) const = default;
  };
  std::map<PoolKey, http::UpstreamPool> pools_;
  IntrospectionCache introspections_;
  Time date_at_{};
  std::string date_;
};

}  // namespace semel::runtime
