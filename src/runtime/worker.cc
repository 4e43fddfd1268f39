#include "runtime/worker.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "engine/spawn.h"
#include "http/head.h"

namespace semel::runtime {
namespace asio = boost::asio;
using asio::awaitable;
using asio::ip::tcp;

namespace {
constexpr auto kPruneEvery = std::chrono::seconds(1);
constexpr auto kAcceptPause = std::chrono::milliseconds(20);
// How many idle connections are searched for one of a certain peer.
constexpr std::size_t kIdleLookedAtMax = 256;
constexpr std::string_view kServing = "serving a connection";

Duration longest_idle(const std::vector<config::RouteConfig>& routes) {
  Duration longest{0};
  for (const config::RouteConfig& route : routes) longest = std::max(longest, route.upstream_idle);
  return longest;
}
}  // namespace

Worker::Worker(Services& services, ActiveConfigPtr settings)
    : services_(services), settings_(std::move(settings)), deadlines_(context_.get_executor()) {
  make_balancers();
}

std::vector<UpstreamTarget> Worker::targets_of(const ActiveConfig& settings, std::size_t route) {
  std::vector<UpstreamTarget> targets;
  const RouteEndpoints& upstreams = settings.endpoints[route];
  for (std::size_t i = 0; i < upstreams.size(); ++i) {
    for (const EndpointPtr& endpoint : upstreams[i]->endpoints()) {
      const EndpointKey& key = endpoint->key();
      std::shared_ptr<EndpointPool>& at = upstream_pools_[endpoint];
      if (!at) {
        http::UpstreamPool pool(context_.get_executor(), deadlines_, key.host, key.port,
                                key.tls ? settings.key_material.upstreams[route] : nullptr,
                                key.address);
        at = std::make_shared<EndpointPool>(endpoint, std::move(pool));
      }
      targets.push_back({at, i});
    }
  }
  return targets;
}

void Worker::make_balancers() {
  by_route_.clear();
  for (std::size_t route = 0; route < settings_->routes.size(); ++route) {
    by_route_.emplace_back(targets_of(*settings_, route));
    for (const UpstreamTarget& target : by_route_.back().targets()) {
      if (target.at->endpoint->key().tls) {
        target.at->pool.use_tls(settings_->key_material.upstreams[route]);
      }
    }
  }
}

void Worker::follow_endpoints() {
  asio::post(context_, [this] { make_balancers(); });
}

// A pool that a request still uses, or a balancer, is owned by more than the map.
void Worker::drop_pools() {
  std::erase_if(upstream_pools_, [](const auto& entry) { return entry.second.use_count() == 1; });
}

// Connections to upstreams that are no longer configured are closed as they become idle.
awaitable<void> Worker::adopt(ActiveConfigPtr settings) {
  auto on_worker = [this, &settings]() -> awaitable<void> {
    settings_ = std::move(settings);
    make_balancers();
    co_return;
  };
  co_await asio::co_spawn(context_, on_worker, asio::use_awaitable);
}

void Worker::listen(tcp::acceptor acceptor, Serve serve) {
  serve_ = std::move(serve);
  acceptors_.push_back(std::move(acceptor));
}

void Worker::run() {
  for (auto& acceptor : acceptors_) {
    engine::spawn_loop(context_.get_executor(), "accepting",
                       [this, &acceptor] { return accept(acceptor); });
  }
  engine::spawn_loop(context_.get_executor(), "watching deadlines",
                     [this] { return deadlines_.run(); });
  engine::spawn_loop(context_.get_executor(), "pruning", [this] { return prune(); });
  context_.run();
}

void Worker::drain() {
  asio::post(context_, [this] {
    for (auto& acceptor : acceptors_) close_gently(acceptor);
  });
}

// Accepts all waiting connections before closing: closing a listener resets those that the kernel
// has accepted and we have not yet.
void Worker::close_gently(tcp::acceptor& acceptor) {
  boost::system::error_code error;
  acceptor.non_blocking(true, error);
  while (!error) {
    tcp::socket socket(context_);
    acceptor.accept(socket, error);
    if (!error)
      asio::co_spawn(context_, serve_(*this, std::move(socket)), engine::OrReport{kServing});
  }
  acceptor.close(error);
}

bool Worker::turn_away(tcp::acceptor& acceptor) {
  boost::system::error_code error;
  acceptor.non_blocking(true, error);
  return !error && services_.spare_descriptor.turn_away(acceptor.native_handle(),
                                                        !settings_->key_material.server);
}

awaitable<void> Worker::accept(tcp::acceptor& acceptor) {
  bool no_descriptor = false;
  while (acceptor.is_open()) {
    boost::system::error_code error;
    const auto done = [&error] { return asio::redirect_error(asio::use_awaitable, error); };
    // Without a free descriptor, accepting fails even if no connection is waiting.
    if (no_descriptor) co_await acceptor.async_wait(tcp::acceptor::wait_read, done());
    tcp::socket socket(context_);
    if (!error) co_await acceptor.async_accept(socket, done());
    no_descriptor = error == asio::error::no_descriptors ||
                    error == boost::system::errc::too_many_files_open_in_system;
    if (!error) {
      asio::co_spawn(context_, serve_(*this, std::move(socket)), engine::OrReport{kServing});
      services_.spare_descriptor.regain();
    } else if (acceptor.is_open()) {
      telemetry::log_repeating(config::LogLevel::warn, "accept failed", "",
                               {{"why", error.message()}});
      // Accepting again at once would spin.
      if (!no_descriptor || !turn_away(acceptor)) co_await services_.clock.sleep(kAcceptPause);
    }
  }
}

awaitable<void> Worker::prune() {
  for (;;) {
    co_await services_.clock.sleep(kPruneEvery);
    const Duration idle_max = longest_idle(settings_->routes);
    for (auto& [address, pool] : pools_) pool.prune(idle_max);
    for (auto& [endpoint, at] : upstream_pools_) at->pool.prune(idle_max);
    drop_pools();
  }
}

std::optional<UpstreamTarget> Worker::choose_upstream(
    const Route& route, std::span<const std::shared_ptr<EndpointPool>> tried) {
  const auto chosen_by = [&](Balancer& balancer) -> std::optional<UpstreamTarget> {
    const UpstreamTarget* chosen =
        balancer.choose(tried, route->balance, deadlines_.now(), route->connect_timeout);
    if (!chosen) return std::nullopt;
    return *chosen;
  };
  if (route.active() == settings_) return chosen_by(by_route_[route.index()]);
  // The request began before the configuration was reloaded.
  Balancer earlier(targets_of(*route.active(), route.index()));
  return chosen_by(earlier);
}

http::Client Worker::client_to(const config::Url& url) {
  PoolKey key{url.address.host, url.address.port, std::nullopt};
  if (url.tls) key.tls.emplace();
  http::UpstreamPool& pool = pools_
                                 .try_emplace(std::move(key), context_.get_executor(), deadlines_,
                                              url.address.host, url.address.port)
                                 .first->second;
  if (url.tls) pool.use_tls(settings_->key_material.own);
  return {pool, deadlines_, url.authority()};
}

Worker::Idle::Idle(Worker& worker, http::Connection& client, const ShareHolder* peer)
    : worker_(worker), client_(client), peer_(peer), since_(worker.deadlines_.now()) {
  worker_.idle_.push_back(*this);
  if (&worker_.idle_.front() == this) worker_.note_longest_idle();
}

Worker::Idle::~Idle() {
  if (!is_linked()) return;
  const bool was_first = &worker_.idle_.front() == this;
  worker_.idle_.erase(worker_.idle_.iterator_to(*this));
  if (was_first) worker_.note_longest_idle();
}

void Worker::note_longest_idle() {
  longest_idle_.store(idle_.empty() ? kNobody : idle_.front().since_.time_since_epoch().count(),
                      std::memory_order_relaxed);
}

void Worker::end(Idle& idle) {
  idle.client_.give_up();
  idle_.erase(idle_.iterator_to(idle));
  note_longest_idle();
}

bool Worker::end_longest_idle() {
  const auto since = [](const Worker* worker) {
    return worker->longest_idle_.load(std::memory_order_relaxed);
  };
  Worker* found = *std::ranges::min_element(services_.workers, {}, since);
  if (since(found) == kNobody) return false;
  if (found == this) {
    end(idle_.front());
    return true;
  }
  asio::post(found->context_, [found] {
    if (!found->idle_.empty()) found->end(found->idle_.front());
  });
  return true;
}

bool Worker::end_idle_of(const ShareHolder& peer) {
  std::size_t looked_at = 0;
  for (Idle& idle : idle_) {
    if (idle.peer_ == &peer) {
      end(idle);
      return true;
    }
    if (++looked_at == kIdleLookedAtMax) break;
  }
  return false;
}

const std::string& Worker::date() {
  const Time now = services_.clock.now();
  if (now - date_at_ >= std::chrono::seconds(1) || now < date_at_) {
    date_at_ = std::chrono::floor<std::chrono::seconds>(now);
    date_ = http::format_date(now);
  }
  return date_;
}

}  // namespace semel::runtime
