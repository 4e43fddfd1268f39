#include "config/address.h"

#include <fmt/format.h>

namespace semel::config {

std::string Url::authority() const {
  const bool v6 = address.host.contains(':');
  const std::string host = v6 ? "[" + address.host + "]" : address.host;
  if (address.port == default_port(tls)) return host;
  return fmt::format("{}:{}", host, address.port);
}

}  // namespace semel::config
