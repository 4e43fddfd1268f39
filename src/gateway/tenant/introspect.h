#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <variant>

#include "http/message.h"
#include "runtime/active_config.h"
#include "semel/driver/clock.h"

namespace semel::runtime {
class Worker;
}  // namespace semel::runtime

// Asks an auth service who the holder of a credential is.
namespace semel::gateway {

// The client's own Authorization and Cookie, as they go to the auth service.
struct Credential {
  std::string authorization;
  std::string cookie;
};
// nullopt: there is neither, or more than one Authorization.
std::optional<Credential> credential_of(const http::Request& message);

namespace introspected {
struct Tenant {
  std::string name;
};
struct Refused {};      // the service says no
struct Unavailable {};  // it gave no usable answer; logged
}  // namespace introspected
using Introspected =
    std::variant<introspected::Tenant, introspected::Refused, introspected::Unavailable>;

boost::asio::awaitable<Introspected> introspect(runtime::Worker& worker,
                                                runtime::ActiveConfigPtr settings,
                                                Credential credential);

}  // namespace semel::gateway
