#pragma once

#include <cstdint>
#include <string>

namespace semel {

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

// The port of a scheme where a URL does not name one.
constexpr std::uint16_t default_port(bool tls) {
  return tls ? 443 : 80;
}

// A URL that Semel itself asks: http:// or https://, taken apart.
struct Url {
  bool tls = false;
  HostPort address;
  std::string target;  // path and query; at least "/"
  // The value of a Host header: the port only where it is not the scheme's own.
  std::string authority() const;
};

// An address range, "10.0.0.0/8" or "::1".
struct AddressRange {
  std::string text;
};

}  // namespace semel
