#pragma once

#include <cstdint>
#include <string>

namespace semel::config {

// host:port as written in the file. The host may be a name (upstreams only), an IPv4 address or an
// IPv6 address in brackets, kept here without them.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
  bool operator==(const HostPort&) const = default;
};

struct Upstream {
  bool tls = false;
  HostPort address;
  std::string base_path;  // "" or "/prefix", put before the request's path
};

// Returns the port of a scheme, for a URL that does not name one.
constexpr std::uint16_t default_port(bool tls) {
  return tls ? 443 : 80;
}

// A parsed http:// or https:// URL that Semel itself requests.
struct Url {
  bool tls = false;
  HostPort address;
  std::string target;  // path and query; at least "/"
  // Returns the value of a Host header, with the port only if it is not the scheme's default.
  std::string authority() const;
  bool operator==(const Url&) const = default;
};

// An address range, "10.0.0.0/8" or "::1".
struct AddressRange {
  std::string text;
};

}  // namespace semel::config
