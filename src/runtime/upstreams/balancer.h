#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "config/upstream.h"
#include "http/pool.h"
#include "runtime/upstreams/endpoint.h"

namespace semel::runtime {

// One worker's connections to one endpoint.
struct EndpointPool {
  EndpointPtr endpoint;
  http::UpstreamPool pool;
};

// Where a request may go: an endpoint, and the index of the upstream that it belongs to, among
// those of the route.
struct UpstreamTarget {
  std::shared_ptr<EndpointPool> at;
  std::size_t upstream = 0;
};

// Chooses among the endpoints of a route, for one worker.
class Balancer {
 public:
  explicit Balancer(std::vector<UpstreamTarget> targets) : targets_(std::move(targets)) {}

  // Returns where the next request goes, or one that could not be sent to those of `tried`. An
  // endpoint that is left out is chosen only if no other is left: leaving out must not make an
  // outage. Null: all of them were tried.
  const UpstreamTarget* choose(std::span<const std::shared_ptr<EndpointPool>> tried,
                               const config::BalanceConfig& rules, Endpoint::Instant now,
                               Duration connect_timeout);

  const std::vector<UpstreamTarget>& targets() const { return targets_; }

 private:
  // Returns the index of the best of those that are up, or whose turn it is to be tried again.
  std::optional<std::size_t> find_up(std::span<const std::shared_ptr<EndpointPool>> tried,
                                     const config::BalanceConfig& rules, Endpoint::Instant now,
                                     Duration connect_timeout);
  std::optional<std::size_t> find_any(std::span<const std::shared_ptr<EndpointPool>> tried) const;
  // Returns a number from 0 up to 1. It only has to spread.
  double draw();

  std::vector<UpstreamTarget> targets_;
  std::size_t next_ = 0;
  std::uint32_t drawn_ = 1;
};

}  // namespace semel::runtime
