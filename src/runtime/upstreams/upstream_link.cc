#include "runtime/upstreams/upstream_link.h"

#include <algorithm>

#include "config/reading/values.h"

namespace semel::runtime {
using boost::asio::awaitable;

UpstreamLink::UpstreamLink(Worker& worker, const Route& route) : worker_(worker), route_(route) {}

bool UpstreamLink::turn_to_next() {
  if (target_) tried_.push_back(target_->at);
  connection_.reset();
  exchange_.reset();
  target_ = worker_.choose_upstream(route_, tried_);
  if (!target_) return false;
  exchange_.emplace(target_->at->endpoint->exchange_count());
  connection_.emplace(target_->at->pool);
  return true;
}

void UpstreamLink::unreachable(const std::string& why) {
  Endpoint& endpoint = *target_->at->endpoint;
  const auto ejected_for = endpoint.failed(worker_.deadlines().now(), route_->balance);
  if (route_->upstreams.size() > 1 || ejected_for) {
    telemetry::log_repeating(config::LogLevel::warn, "no connection to upstream", route_->name,
                             {{"upstream", endpoint.name()}, {"why", why}});
  }
  if (ejected_for) {
    telemetry::log_event(config::LogLevel::warn, "upstream ejected",
                         {{"upstream", endpoint.name()},
                          {"for", config::reading::format_duration(*ejected_for)},
                          {"why", why}});
  }
}

awaitable<std::expected<void, std::string>> UpstreamLink::connect(Duration patience) {
  auto connected = co_await connection_->connect(patience);
  if (!connected) {
    unreachable(connected.error());
    connection_.reset();
  } else if (target_->at->endpoint->connected(worker_.deadlines().now())) {
    telemetry::log_event(config::LogLevel::info, "upstream is back",
                         {{"upstream", target_->at->endpoint->name()}});
  }
  co_return connected;
}

awaitable<std::expected<void, std::string>> UpstreamLink::open_again() {
  return connect(route_->connect_timeout);
}

awaitable<std::expected<void, std::string>> UpstreamLink::open() {
  const http::Deadlines& clock = worker_.deadlines();
  std::string why;
  if (*this && !was_idle()) {
    why = "the connection broke before anything was sent";
    unreachable(why);
    connection_.reset();
  }
  if (!give_up_) give_up_ = clock.now() + route_->upstream_timeout;
  for (;;) {
    Duration patience = route_->connect_timeout;
    if (!connection_) {
      if (target_) {
        patience =
            std::min(patience, std::chrono::duration_cast<Duration>(*give_up_ - clock.now()));
      }
      if (patience <= Duration{0} || !turn_to_next()) co_return std::unexpected(std::move(why));
      // Whether an upstream that was left out is back, only a new connection tells.
      const bool is_trial = target_->at->endpoint->is_ejected();
      if (!took_idle_ && !is_trial && connection_->take_idle(route_->upstream_idle)) {
        took_idle_ = true;
        co_return std::expected<void, std::string>{};
      }
    }
    auto connected = co_await connect(patience);
    if (connected) co_return connected;
    why = std::move(connected.error());
  }
}

}  // namespace semel::runtime
