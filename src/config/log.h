#pragma once

#include <string>

namespace semel::config {

enum class LogFormat { text, json };
enum class LogLevel { debug, info, warn, error };
enum class LogKeys { digest, full };
// Selects the lines about requests and records.
enum class LogDecisions {
  all,      // a line per keyed request answered, and one per change of a record's state
  changes,  // only the changes
  none,
};
struct LogConfig {
  LogFormat format = LogFormat::text;
  LogLevel level = LogLevel::info;
  LogKeys keys = LogKeys::digest;
  LogDecisions decisions = LogDecisions::all;
  std::string file;  // empty: standard error
  bool operator==(const LogConfig&) const = default;
};

}  // namespace semel::config
