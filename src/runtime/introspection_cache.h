#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/sha256.h"
#include "semel/clock.h"

namespace semel {

// Caches recent introspection answers by a digest of the credential. One per worker; bounded.
class IntrospectionCache {
 public:
  // Returns the tenant; nullopt: not known, or no longer valid.
  std::optional<std::string> find(const Sha256Digest& credential, SteadyTime now);
  void put(const Sha256Digest& credential, std::string tenant, SteadyTime until, SteadyTime now);

 private:
  struct Entry {
    std::string tenant;
    SteadyTime until;
  };
  std::map<Sha256Digest, Entry> entries_;
};

}  // namespace semel
