#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/sha256.h"
#include "semel/driver/clock.h"

namespace semel::runtime {

// Caches recent introspection answers by a digest of the credential. One per worker; bounded.
class IntrospectionCache {
 public:
  // Returns the tenant; nullopt: not known, or no longer valid.
  std::optional<std::string> find(const base::Sha256Digest& credential, SteadyTime now);
  void put(const base::Sha256Digest& credential, std::string tenant, SteadyTime until,
           SteadyTime now);

 private:
  struct Entry {
    std::string tenant;
    SteadyTime until;
  };
  std::map<base::Sha256Digest, Entry> entries_;
};

}  // namespace semel::runtime
