#pragma once

#include <yaml-cpp/emitter.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "semel/time.h"

namespace semel::config::printing {

// Writes a configuration file. A '$' is written as $$, so no value is taken for a variable when the
// file is read.
class Yaml {
 public:
  Yaml();

  void text(std::string_view key, std::string_view value);
  // Writes nothing if the value is empty, which a file cannot say about this key.
  void text_if_any(std::string_view key, std::string_view value);
  void flag(std::string_view key, bool value);
  void count(std::string_view key, std::uint64_t value);
  void size(std::string_view key, std::uint64_t bytes);
  void duration(std::string_view key, Duration value);
  // Writes `never` for Duration::max().
  void duration_or_never(std::string_view key, Duration value);
  void texts(std::string_view key, const std::vector<std::string>& values);
  void url(std::string_view key, std::string_view value);  // without its secrets

  void mapping(std::string_view key, const std::function<void()>& write_members);
  void sequence(std::string_view key, const std::function<void()>& write_items);
  // Writes one mapping of a sequence.
  void item(const std::function<void()>& write_members);

  std::string finish();

 private:
  void write_key(std::string_view key);
  void write_value(std::string_view value);

  YAML::Emitter out_;
};

}  // namespace semel::config::printing
