#pragma once

#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <vector>

#include "config/address.h"

namespace semel::runtime {

// The addresses that are believed about the client: in the tenant header and X-Forwarded-*.
class TrustedProxies {
 public:
  explicit TrustedProxies(const std::vector<config::AddressRange>& ranges);
  bool contains(const boost::asio::ip::address& address) const;

 private:
  struct Range {
    std::vector<std::uint8_t> bytes;  // 4 or 16
    unsigned prefix_bits;
  };
  std::vector<Range> ranges_;
};

}  // namespace semel::runtime
