#include "runtime/upstreams/upstream_watch.h"

#include <boost/asio/co_spawn.hpp>

#include "engine/spawn.h"
#include "http/client.h"
#include "http/resolve.h"

namespace semel::runtime {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(50);
// The system's resolver does not say how long an answer holds.
constexpr auto kResolveEvery = std::chrono::seconds(5);
constexpr auto kResolveTimeout = std::chrono::seconds(5);

// Lets go of what the configuration no longer has, unless it is under way.
template <class Tasks>
void drop_unwanted(Tasks& tasks) {
  std::erase_if(
      tasks, [](const auto& entry) { return !entry.second.is_wanted && !entry.second.is_running; });
}

std::string authority_of(const EndpointKey& key) {
  return config::Url{key.tls.has_value(), {key.host, key.port}, "/"}.authority();
}

}  // namespace

awaitable<void> UpstreamWatch::run() {
  for (;;) {
    begin_lookups();
    begin_checks();
    co_await worker_.services().clock.sleep(kLookEvery);
  }
}

void UpstreamWatch::begin_lookups() {
  for (auto& [set, task] : lookups_) task.is_wanted = false;
  const Instant now = worker_.deadlines().now();
  for (const RouteEndpoints& route : worker_.settings()->endpoints) {
    for (const EndpointSetPtr& set : route) {
      if (!set->is_name()) continue;
      Task& task = lookups_[set];
      task.is_wanted = true;
      if (task.is_running || now < task.next) continue;
      task.is_running = true;
      asio::co_spawn(worker_.context(), look_up(set), engine::OrReport{"resolving an upstream"});
    }
  }
  drop_unwanted(lookups_);
}

awaitable<void> UpstreamWatch::look_up(EndpointSetPtr set) {
  try {
    co_await resolve(*set);
  } catch (const std::exception& error) {
    telemetry::log_event(config::LogLevel::error, "upstream not resolved", {{"why", error.what()}});
  }
  Task& task = lookups_[set];
  task.is_running = false;
  task.next = worker_.deadlines().now() + kResolveEvery;
}

awaitable<void> UpstreamWatch::resolve(EndpointSet& set) {
  const EndpointKey& key = set.key();
  const auto found =
      co_await http::resolve(worker_.context().get_executor(), key.host, key.port, kResolveTimeout);
  if (!found) {
    // Those that were found before are used on.
    telemetry::log_repeating(config::LogLevel::warn, "upstream not resolved", key.host,
                             {{"host", key.host}, {"why", found.error()}});
    co_return;
  }
  std::vector<std::string> addresses;
  for (const auto& endpoint : *found) addresses.push_back(endpoint.address().to_string());
  if (!set.resolved(std::move(addresses))) co_return;
  telemetry::log_event(config::LogLevel::info, "upstream resolved",
                       {{"host", key.host}, {"addresses", std::to_string(set.endpoints().size())}});
  for (Worker* worker : worker_.services().workers) worker->follow_endpoints();
}

void UpstreamWatch::begin_checks() {
  for (auto& [endpoint, task] : checks_) task.is_wanted = false;
  const Instant now = worker_.deadlines().now();
  const ActiveConfig& settings = *worker_.settings();
  for (std::size_t route = 0; route < settings.routes.size(); ++route) {
    if (!settings.routes[route].health) continue;
    for (const EndpointSetPtr& set : settings.endpoints[route]) {
      for (const EndpointPtr& endpoint : set->endpoints()) {
        Check& task = checks_[endpoint];
        task.is_wanted = true;
        if (task.is_running || now < task.next) continue;
        task.is_running = true;
        task.tls = settings.key_material.upstreams[route];
        task.next = now + endpoint->key().health->interval;
        asio::co_spawn(worker_.context(), check(endpoint),
                       engine::OrReport{"checking an upstream"});
      }
    }
  }
  drop_unwanted(checks_);
}

awaitable<void> UpstreamWatch::check(EndpointPtr endpoint) {
  std::string wrong;
  try {
    wrong = co_await ask(*endpoint, checks_[endpoint].tls);
  } catch (const std::exception& error) {
    wrong = error.what();
  }
  conclude(*endpoint, wrong);
  checks_[endpoint].is_running = false;
}

// Each check makes a connection of its own: one that is kept says little about the next one.
awaitable<std::string> UpstreamWatch::ask(const Endpoint& endpoint,
                                          std::shared_ptr<const http::TlsClient> tls) {
  const EndpointKey& key = endpoint.key();
  http::UpstreamPool pool(worker_.context().get_executor(), worker_.deadlines(), key.host, key.port,
                          key.tls ? std::move(tls) : nullptr, key.address);
  http::Client client(pool, worker_.deadlines(), authority_of(key));
  http::Client::Request request;
  request.target = key.health->path;
  request.headers = {{"User-Agent", "semel-health"}, {"Connection", "close"}};
  request.wants = http::Client::Request::Wants::head;
  const auto answer = co_await client.ask(std::move(request), key.health->timeout);
  if (!answer) co_return answer.error();
  const bool is_well = answer->status >= 200 && answer->status <= 399;
  co_return is_well ? "" : "status " + std::to_string(answer->status);
}

void UpstreamWatch::conclude(Endpoint& endpoint, const std::string& wrong) {
  const config::HealthConfig& rules = *endpoint.key().health;
  if (!wrong.empty() && endpoint.check_failed(rules.unhealthy_after)) {
    telemetry::log_event(config::LogLevel::warn, "upstream is down",
                         {{"upstream", endpoint.name()}, {"why", wrong}});
  }
  if (wrong.empty() && endpoint.check_passed(worker_.deadlines().now(), rules.healthy_after)) {
    telemetry::log_event(config::LogLevel::info, "upstream is up", {{"upstream", endpoint.name()}});
  }
}

}  // namespace semel::runtime
