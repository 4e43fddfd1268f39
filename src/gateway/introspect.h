#pragma once

#include <boost/asio/awaitable.hpp>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "core/sha256.h"
#include "gateway/settings.h"
#include "net/message.h"
#include "semel/clock.h"

// Asking an auth service who the holder of a credential is.
namespace semel {

class Worker;

// The client's own Authorization and Cookie, as they go to the auth service.
struct Credential {
  std::string authorization;
  std::string cookie;
};
// nullopt: there is neither, or more than one Authorization.
std::optional<Credential> credential_of(const net::Request& message);

// The answers of the last moments, by a digest of the credential. Of one worker; bounded.
class IntrospectionCache {
 public:
  // nullopt: not known, or not any more.
  std::optional<std::string> find(const Sha256Digest& credential, SteadyTime now);
  void put(const Sha256Digest& credential, std::string tenant, SteadyTime until, SteadyTime now);

 private:
  struct Entry {
    std::string tenant;
    SteadyTime until;
  };
  std::map<Sha256Digest, Entry> entries_;
};

namespace introspected {
struct Tenant {
  std::string name;
};
struct Refused {};      // the service says no
struct Unavailable {};  // it says nothing that can be used; logged
}  // namespace introspected
using Introspected =
    std::variant<introspected::Tenant, introspected::Refused, introspected::Unavailable>;

boost::asio::awaitable<Introspected> introspect(Worker& worker, SettingsPtr settings,
                                                Credential credential);

}  // namespace semel
