#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "config/log.h"

namespace semel::telemetry {

using LogFields = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// Structured logging to standard error: one event per line, as text or JSON, with the node and its
// run (process_identity.h) in each; empty fields are left out. Lines are written in groups, within
// a second; warnings and errors at once.
void start_logging(const config::LogConfig& config);
void log_event(config::LogLevel level, std::string_view event, LogFields fields);
// Like log_event(), for events that repeat while something is wrong: writes one line per event and
// kind (there must be few kinds) in ten seconds, which says how many were held back before it.
void log_repeating(config::LogLevel level, std::string_view event, std::string_view kind,
                   LogFields fields);
bool logs(config::LogLevel level);
void flush_log();

}  // namespace semel::telemetry
