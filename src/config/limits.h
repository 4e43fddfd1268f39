#pragma once

#include <cstddef>
#include <string>

#include "semel/time.h"

namespace semel::config {

struct LimitsConfig {
  std::size_t connections = 10'000;
  std::size_t header_bytes = 32 * 1024;
  Duration header_timeout = std::chrono::seconds(10);
  Duration body_timeout = std::chrono::seconds(30);
  std::size_t in_flight = 4096;
  // Over all tenants and routes; 0: no limit.
  std::size_t new_keys_per_second = 0;
  std::size_t live_keys = 0;
  bool any_on_keys() const { return new_keys_per_second > 0 || live_keys > 0; }
};

// Per tenant and operation; 0: no limit.
struct RouteLimits {
  std::size_t new_keys_per_second = 0;
  std::size_t burst = 0;  // 0: as many as new_keys_per_second
  std::size_t live_keys = 0;
  std::size_t in_flight = 0;
  bool any() const { return new_keys_per_second > 0 || live_keys > 0 || in_flight > 0; }
};

// Where large request bodies are kept while they are handled.
struct SpoolConfig {
  std::string path;  // "": beside the embedded store, else where temporary files go
  std::size_t bytes_max = std::size_t{1} << 30;
  bool operator==(const SpoolConfig&) const = default;
};

}  // namespace semel::config
