#pragma once

#include <boost/asio/ip/address.hpp>
#include <expected>
#include <string>
#include <vector>

#include "config/config.h"
#include "http/message.h"

namespace semel {

// All events of a route belong to one tenant: the signature proves who sent them, the route says
// who that is.
inline constexpr std::string_view kWebhookTenant = "webhook";

// The addresses that are believed about the client: in the tenant header and X-Forwarded-*.
class TrustedProxies {
 public:
  explicit TrustedProxies(const std::vector<AddressRange>& ranges);
  bool contains(const boost::asio::ip::address& address) const;

 private:
  struct Range {
    std::vector<std::uint8_t> bytes;  // 4 or 16
    unsigned prefix_bits;
  };
  std::vector<Range> ranges_;
};

// Returns the tenant, as proven by the request's head alone: for the sources none, authorization
// and header. The error is a sentence for the client.
//
// A credential that changes between retries would make a retry a new operation, that is, a second
// effect: such credentials are refused, not hashed.
std::expected<std::string, std::string> find_tenant(const TenantConfig& config,
                                                    const net::Request& request,
                                                    bool from_trusted_proxy);

}  // namespace semel
