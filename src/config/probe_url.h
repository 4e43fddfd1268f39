#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace semel::config {

// The values of {key}, {record}, {attempt} and {token} in a probe's URL.
struct ProbeValues {
  std::string_view key;
  std::string_view record;
  std::string_view attempt;
  std::string_view token;
};

// Returns a phrase that says what is wrong with the placeholders in a URL's path and query; "":
// nothing.
std::string probe_target_error(std::string_view target);

// Returns the path and query with the values filled in, escaped as %XX where needed. `target` must
// have no error.
std::string fill_probe_target(std::string_view target, const ProbeValues& values);

}  // namespace semel::config
