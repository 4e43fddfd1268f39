#pragma once

namespace semel::config {

enum class LogFormat { text, json };
enum class LogLevel { debug, info, warn, error };
enum class LogKeys { digest, full };
struct LogConfig {
  LogFormat format = LogFormat::text;
  LogLevel level = LogLevel::info;
  LogKeys keys = LogKeys::digest;
  bool operator==(const LogConfig&) const = default;
};

}  // namespace semel::config
