#include "telemetry/log.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
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
  std::unique_ptr<LogWriter> writer;
  const Log* before;  // the log that it replaces, whose users may still be there
};

// Never deleted: other threads, and the handler of a signal, may log until the process is gone.
std::atomic<Log*> current = nullptr;

Time now() {
  return engine::SystemClock().now();
}

void write_event(config::LogLevel level, std::string_view event, LogFields fields,
                 std::uint64_t held_back) {
  Log& log = *current;
  const std::string line = log.line.make(now(), level, event, fields, held_back);
  if (level >= config::LogLevel::warn) {
    log.writer->append_urgent(line);
  } else {
    log.writer->append(line);
  }
}

}  // namespace

std::expected<void, std::string> start_logging(const config::LogConfig& config) {
  LogLine line(config.format, engine::this_node().node, engine::run_text(engine::this_node()));
  auto opened = LogWriter::open(
      config.file, [line](std::string_view event, std::string_view field, std::string_view value) {
        return line.make(now(), config::LogLevel::warn, event, {{field, value}});
      });
  if (!opened) return std::unexpected(std::move(opened.error()));
  const Log* before = current;
  current = new Log{config.level, std::move(line), *std::move(opened), before};
  if (!before) std::atexit(flush_log);
  engine::on_task_failed([](std::string_view task, std::string_view why) {
    log_event(config::LogLevel::error, "background task failed", {{"task", task}, {"why", why}});
    flush_log();
  });
  return {};
}

void reopen_log_at_signal() {
  std::signal(SIGUSR1, [](int) { current.load()->writer->reopen(); });
}

bool logs(config::LogLevel level) {
  const Log* log = current;
  return log && level >= log->level;
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
  if (Log* log = current) log->writer->flush();
}

}  // namespace semel::telemetry
