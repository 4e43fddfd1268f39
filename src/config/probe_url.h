#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace semel {

// What stands for {key}, {record}, {attempt} and {token} in a probe's URL.
struct ProbeValues {
  std::string_view key;
  std::string_view record;
  std::string_view attempt;
  std::string_view token;
};

// What is wrong with the placeholders of a URL's path and query, as a phrase; "" if nothing is.
std::string probe_target_error(std::string_view target);

// The path and query with the values put in, escaped as %XX where needed. `target` has no error.
std::string fill_probe_target(std::string_view target, const ProbeValues& values);

}  // namespace semel
