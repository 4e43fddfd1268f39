#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "config/route.h"
#include "runtime/upstreams/endpoint.h"

namespace semel::runtime {

// The endpoints of one upstream of the configuration: one, or as many as its name has addresses.
// Until the name has been resolved there is one, for the name itself. Thread-safe.
class EndpointSet {
 public:
  explicit EndpointSet(EndpointKey key);

  const EndpointKey& key() const { return key_; }
  // Returns whether the host is a name, whose addresses may change.
  bool is_name() const { return is_name_; }
  std::vector<EndpointPtr> endpoints() const;
  // Takes the addresses that the name has now; endpoints of addresses that it had before stay the
  // same. No addresses change nothing. Returns whether there are others now.
  bool resolved(std::vector<std::string> addresses);

 private:
  const EndpointKey key_;
  const bool is_name_;
  mutable std::mutex mutex_;
  std::vector<EndpointPtr> endpoints_;  // by address
};
using EndpointSetPtr = std::shared_ptr<EndpointSet>;

// Makes the sets of each route's upstreams, in the order of the file. Upstreams that `running` has
// as well keep their sets, and with them what is known about their health.
using RouteEndpoints = std::vector<EndpointSetPtr>;
std::vector<RouteEndpoints> make_endpoints(const std::vector<config::RouteConfig>& routes,
                                           const std::vector<RouteEndpoints>& running);

}  // namespace semel::runtime
