#include "runtime/upstreams/balancer.h"

#include <algorithm>

namespace semel::runtime {

using Tried = std::span<const std::shared_ptr<EndpointPool>>;

namespace {

bool was_tried(Tried tried, const UpstreamTarget& target) {
  return std::ranges::find(tried, target.at) != tried.end();
}

}  // namespace

double Balancer::draw() {
  drawn_ = drawn_ * 1664525U + 1013904223U;
  return static_cast<double>(drawn_ >> 8U) / static_cast<double>(1U << 24U);
}

// An upstream that takes turns has either its turn or, while it starts slowly, often not; one that
// is chosen by its load is taken for busier than it is.
std::optional<std::size_t> Balancer::find_up(Tried tried, const config::BalanceConfig& rules,
                                             Endpoint::Instant now, Duration connect_timeout) {
  std::optional<std::size_t> best;
  double best_load = 0;
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const std::size_t index = (next_ + i) % targets_.size();
    Endpoint& endpoint = *targets_[index].at->endpoint;
    if (!tried.empty() && was_tried(tried, targets_[index])) continue;
    if (!endpoint.is_up()) {
      if (endpoint.take_trial(now, connect_timeout)) return index;
      continue;
    }
    const double weight = endpoint.weight(now, rules.slow_start);
    double load = 0;
    if (rules.by == config::Balance::least_connections) {
      load = static_cast<double>(endpoint.exchanges() + 1) / weight;
    } else if (weight >= 1 || draw() < weight) {
      return index;
    }
    if (!best || load < best_load) {
      best = index;
      best_load = load;
    }
  }
  return best;
}

std::optional<std::size_t> Balancer::find_any(Tried tried) const {
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const std::size_t index = (next_ + i) % targets_.size();
    if (!was_tried(tried, targets_[index])) return index;
  }
  return std::nullopt;
}

const UpstreamTarget* Balancer::choose(Tried tried, const config::BalanceConfig& rules,
                                       Endpoint::Instant now, Duration connect_timeout) {
  auto found = find_up(tried, rules, now, connect_timeout);
  if (!found) found = find_any(tried);
  if (!found) return nullptr;
  next_ = (*found + 1) % targets_.size();
  return &targets_[*found];
}

}  // namespace semel::runtime
