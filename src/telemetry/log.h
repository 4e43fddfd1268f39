#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "config/log.h"
#include "telemetry/log_line.h"

namespace semel::telemetry {

// Structured logging to standard error or to a file: one event per line, as text or JSON, with the
// node and its run (process_identity.h) in each; empty fields are left out. Lines are written in
// groups (log_writer.h); warnings and errors at once. Call it before any
// other thread runs; before it, nothing is logged. The error says why the file cannot be opened.
std::expected<void, std::string> start_logging(const config::LogConfig& config);
// Opens the log's file anew at SIGUSR1, for those who move it away. Call it once, after
// start_logging().
void reopen_log_at_signal();
void log_event(config::LogLevel level, std::string_view event, LogFields fields);
// Like log_event(), for events that repeat while something is wrong: writes one line per event and
// kind (there must be few kinds) in ten seconds, which says how many were held back before it.
void log_repeating(config::LogLevel level, std::string_view event, std::string_view kind,
                   LogFields fields);
bool logs(config::LogLevel level);
void flush_log();

}  // namespace semel::telemetry
