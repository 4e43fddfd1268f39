#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/sha256.h"
#include "semel/clock.h"

namespace semel {

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

}  // namespace semel
