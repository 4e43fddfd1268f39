#include "runtime/upstreams/endpoint_set.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <map>

namespace semel::runtime {
namespace {

bool is_address(const std::string& host) {
  boost::system::error_code error;
  boost::asio::ip::make_address(host, error);
  return !error;
}

EndpointKey key_of(const config::RouteConfig& route, const config::Upstream& upstream) {
  EndpointKey key{.host = upstream.address.host,
                  .port = upstream.address.port,
                  .tls = std::nullopt,
                  .health = route.health,
                  .address = {}};
  if (upstream.tls) key.tls = route.upstream_tls;
  return key;
}

}  // namespace

EndpointSet::EndpointSet(EndpointKey key)
    : key_(std::move(key)),
      is_name_(!is_address(key_.host)),
      endpoints_{std::make_shared<Endpoint>(key_)} {}

std::vector<EndpointPtr> EndpointSet::endpoints() const {
  const std::lock_guard lock(mutex_);
  return endpoints_;
}

bool EndpointSet::resolved(std::vector<std::string> addresses) {
  if (addresses.empty()) return false;
  std::ranges::sort(addresses);
  const auto [again, end] = std::ranges::unique(addresses);
  addresses.erase(again, end);
  const std::lock_guard lock(mutex_);
  std::vector<EndpointPtr> now;
  for (std::string& address : addresses) {
    const auto known = std::ranges::find_if(endpoints_, [&](const EndpointPtr& endpoint) {
      return endpoint->key().address == address;
    });
    if (known != endpoints_.end()) {
      now.push_back(*known);
      continue;
    }
    EndpointKey key = key_;
    key.address = std::move(address);
    now.push_back(std::make_shared<Endpoint>(std::move(key)));
  }
  if (now == endpoints_) return false;
  endpoints_ = std::move(now);
  return true;
}

std::vector<RouteEndpoints> make_endpoints(const std::vector<config::RouteConfig>& routes,
                                           const std::vector<RouteEndpoints>& running) {
  std::map<EndpointKey, EndpointSetPtr> known;
  for (const RouteEndpoints& route : running) {
    for (const EndpointSetPtr& set : route) known.emplace(set->key(), set);
  }
  std::vector<RouteEndpoints> made;
  for (const config::RouteConfig& route : routes) {
    RouteEndpoints& sets = made.emplace_back();
    for (const config::Upstream& upstream : route.upstreams) {
      EndpointKey key = key_of(route, upstream);
      EndpointSetPtr& set = known[key];
      if (!set) set = std::make_shared<EndpointSet>(std::move(key));
      sets.push_back(set);
    }
  }
  return made;
}

}  // namespace semel::runtime
