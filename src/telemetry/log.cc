#include "telemetry/log.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <memory>

#include "engine/process_identity.h"
#include "engine/spawn.h"
#include "engine/system_clock.h"
#include "telemetry/log_pace.h"
#include "telemetry/log_writer.h"

namespace semel::telemetry {
namespace {

struct Log {
  config::LogLevel level;
  LogLine line;
  std::shared_ptr<LogWriter> writer;
};

// Set before anything else runs, and kept to the end of the program.
std::unique_ptr<Log> current;
// For the handler of a signal.
std::atomic<LogWriter*> reopened_at_signal = nullptr;

Time now() {
  return engine::SystemClock().now();
}

void write_event(config::LogLevel level, std::string_view event, LogFields fields,
                 std::uint64_t held_back) {
  const std::string line = current->line.make(now(), level, event, fields, held_back);
  if (level >= config::LogLevel::warn) {
    current->writer->append_urgent(line);
  } else {
    current->writer->append(line);
  }
}

}  // namespace

std::expected<void, std::string> start_logging(const config::LogConfig& config) {
  LogLine line(config.format, engine::this_node().node, engine::run_text(engine::this_node()));
  auto opened = LogWriter::open(config.file, [line](std::uint64_t lines) {
    return line.make(now(), config::LogLevel::warn, "log lines dropped",
                     {{"lines", std::to_string(lines)}});
  });
  if (!opened) return std::unexpected(std::move(opened.error()));
  current = std::make_unique<Log>(Log{config.level, std::move(line), *std::move(opened)});
  engine::on_task_failed([](std::string_view task, std::string_view why) {
    log_event(config::LogLevel::error, "background task failed", {{"task", task}, {"why", why}});
    flush_log();
  });
  return {};
}

void reopen_log_at_signal() {
  reopened_at_signal = current->writer.get();
  std::signal(SIGUSR1, [](int) {
    if (LogWriter* writer = reopened_at_signal) writer->reopen();
  });
}

bool logs(config::LogLevel level) {
  return current && level >= current->level;
}

void log_event(config::LogLevel level, std::string_view event, LogFields fields) {
  if (logs(level)) write_event(level, event, fields, 0);
}

void log_repeating(config::LogLevel level, std::string_view event, std::string_view kind,
                   LogFields fields) {
  static LogPace pace;
  if (!logs(level)) return;
  const std::string which = std::string(event) + "\n" + std::string(kind);
  const auto held_back = pace.take(which, std::chrono::steady_clock::now());
  if (held_back) write_event(level, event, fields, *held_back);
}

void flush_log() {
  if (current) current->writer->flush();
}

}  // namespace semel::telemetry
