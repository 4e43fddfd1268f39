#include "telemetry/log.h"

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <mutex>

#include "engine/process_identity.h"
#include "engine/spawn.h"
#include "telemetry/log_pace.h"

namespace semel::telemetry {
namespace {

constexpr std::size_t kPendingBytesMax = 32 * 1024;

// Standard error, written in groups: one system call per line would cost more than the line.
class GroupedStderr final : public spdlog::sinks::base_sink<std::mutex> {
 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    pending_.append(line.data(), line.size());
    if (message.level >= spdlog::level::warn || pending_.size() > kPendingBytesMax) flush_();
  }
  void flush_() override {
    std::string_view rest = pending_;
    while (!rest.empty()) {
      const ssize_t n = ::write(STDERR_FILENO, rest.data(), rest.size());
      if (n <= 0) break;  // nobody listens: logging must not stop the gateway
      rest.remove_prefix(static_cast<std::size_t>(n));
    }
    pending_.clear();
  }

  std::string pending_;
};

bool as_json = false;

spdlog::level::level_enum to_spdlog(config::LogLevel level) {
  switch (level) {
    case config::LogLevel::debug:
      return spdlog::level::debug;
    case config::LogLevel::info:
      return spdlog::level::info;
    case config::LogLevel::warn:
      return spdlog::level::warn;
    case config::LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

bool needs_quotes(std::string_view value) {
  for (const char c : value) {
    if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 0x7f) return true;
  }
  return false;
}

void append_json_text(std::string& line, std::string_view value) {
  line += boost::json::serialize(boost::json::string_view(value.data(), value.size()));
}

void append_field(std::string& line, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  if (as_json) {
    line.append(",\"").append(name).append("\":");
    append_json_text(line, value);
    return;
  }
  line.append(" ").append(name).append("=");
  if (needs_quotes(value)) {
    append_json_text(line, value);
  } else {
    line += value;
  }
}

void write_event(config::LogLevel level, std::string_view event, LogFields fields,
                 std::uint64_t held_back) {
  std::string line;
  line.reserve(160);
  if (as_json) {
    line += "\"event\":";
    append_json_text(line, event);
  } else {
    line += event;
  }
  for (const auto& [name, value] : fields) append_field(line, name, value);
  if (held_back > 0) append_field(line, "held_back", std::to_string(held_back));
  spdlog::default_logger_raw()->log(to_spdlog(level), spdlog::string_view_t(line));
}

// Every line names the node that wrote it, since the lines of several nodes are read side by side.
std::string pattern() {
  const std::string run = engine::run_text(engine::this_node());
  std::string node;
  if (as_json) {
    append_json_text(node, engine::this_node().node);
  } else {
    node = engine::this_node().node;
  }
  for (std::size_t at = 0; (at = node.find('%', at)) != std::string::npos; at += 2) {
    node.insert(at, "%");
  }
  if (as_json) {
    return R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","node":)" + node + R"(,"run":")" + run +
           R"(",%v})";
  }
  return "%Y-%m-%dT%H:%M:%S.%eZ %-5l %v node=" + node + " run=" + run;
}

}  // namespace

void start_logging(const config::LogConfig& config) {
  as_json = config.format == config::LogFormat::json;
  auto logger = std::make_shared<spdlog::logger>("semel", std::make_shared<GroupedStderr>());
  logger->set_level(to_spdlog(config.level));
  logger->set_formatter(
      std::make_unique<spdlog::pattern_formatter>(pattern(), spdlog::pattern_time_type::utc));
  spdlog::set_default_logger(std::move(logger));
  engine::on_task_failed([](std::string_view task, std::string_view why) {
    log_event(config::LogLevel::error, "background task failed", {{"task", task}, {"why", why}});
    flush_log();
  });
  spdlog::flush_every(std::chrono::seconds(1));
}

bool logs(config::LogLevel level) {
  return spdlog::should_log(to_spdlog(level));
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
  spdlog::default_logger_raw()->flush();
}

}  // namespace semel::telemetry
