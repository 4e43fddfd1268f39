#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "config/log.h"
#include "semel/time.h"

namespace semel::telemetry {

using LogFields = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// Makes the lines of the log, each with its end. Empty fields are left out. Every line names the
// node and the run that wrote it, since the lines of several nodes are read side by side.
class LogLine {
 public:
  LogLine(config::LogFormat format, std::string_view node, std::string_view run);

  // `held_back`: how many lines of this kind were not written before it; 0 is not shown.
  std::string make(Time at, config::LogLevel level, std::string_view event, LogFields fields,
                   std::uint64_t held_back = 0) const;

 private:
  void append_field(std::string& line, std::string_view name, std::string_view value) const;

  bool as_json_;
  std::string origin_;  // node and run, as they stand in each line
};

}  // namespace semel::telemetry
