#include "config/error.h"

#include <fmt/format.h>

namespace semel::config {

std::string to_string(const ConfigError& error) {
  std::string out = error.file;
  if (error.line > 0) out += fmt::format(":{}", error.line);
  if (!error.key.empty()) out += ": " + error.key;
  return out + ": " + error.message;
}

}  // namespace semel::config
