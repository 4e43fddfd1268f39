#pragma once

#include <string>

namespace semel::config {

// One thing wrong with the file: where, which key, what to do about it.
struct ConfigError {
  std::string file;
  int line = 0;     // from 1; 0: no particular line
  std::string key;  // "routes[0].key.min_length"
  std::string message;
};
// "semel.yaml:12: routes[0].unknwon: unknown key; did you mean 'unknown'?"
std::string to_string(const ConfigError& error);

}  // namespace semel::config
