#include "telemetry/log_line.h"

#include <fmt/chrono.h>

#include <array>
#include <boost/json.hpp>

namespace semel::telemetry {
namespace {

// Longer than nearly every line, so that a line is allocated once.
constexpr std::size_t kLineBytes = 384;

constexpr std::array<std::string_view, 4> kLevels = {"debug", "info", "warning", "error"};

// Appends "2026-11-15T11:06:32.911Z". Only the milliseconds differ between most lines of a thread.
void append_time(std::string& line, Time at) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  thread_local seconds known{-1};
  thread_local std::string text;
  const auto since_epoch = std::chrono::floor<milliseconds>(at.time_since_epoch());
  const auto whole = std::chrono::floor<seconds>(since_epoch);
  if (whole != known) {
    text =
        fmt::format("{:%Y-%m-%dT%H:%M:%S}.", fmt::gmtime(static_cast<std::time_t>(whole.count())));
    known = whole;
  }
  const auto rest = static_cast<int>((since_epoch - whole).count());
  line += text;
  line += static_cast<char>('0' + rest / 100);
  line += static_cast<char>('0' + rest / 10 % 10);
  line += static_cast<char>('0' + rest % 10);
  line += 'Z';
}

bool needs_quotes(std::string_view value) {
  for (const char c : value) {
    if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 0x7f) return true;
  }
  return false;
}

bool needs_escapes(std::string_view value) {
  for (const char c : value) {
    if (c < ' ' || c == '"' || c == '\\' || c == 0x7f) return true;
  }
  return false;
}

void append_json_text(std::string& line, std::string_view value) {
  if (needs_escapes(value)) {
    line += boost::json::serialize(boost::json::string_view(value.data(), value.size()));
  } else {
    line.append("\"").append(value).append("\"");
  }
}

}  // namespace

LogLine::LogLine(config::LogFormat format, std::string_view node, std::string_view run)
    : as_json_(format == config::LogFormat::json) {
  append_field(origin_, "node", node);
  append_field(origin_, "run", run);
}

void LogLine::append_field(std::string& line, std::string_view name, std::string_view value) const {
  if (value.empty()) return;
  if (as_json_) {
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

std::string LogLine::make(Time at, config::LogLevel level, std::string_view event, LogFields fields,
                          std::uint64_t held_back) const {
  const std::string_view level_name = kLevels[static_cast<std::size_t>(level)];
  std::string line;
  line.reserve(kLineBytes);
  if (as_json_) {
    line += "{\"time\":\"";
    append_time(line, at);
    line.append("\",\"level\":\"").append(level_name).append("\"").append(origin_);
    append_field(line, "event", event);
  } else {
    append_time(line, at);
    line.append(" ").append(level_name).append(level_name.size() < 5 ? "  " : " ").append(event);
  }
  for (const auto& [name, value] : fields) append_field(line, name, value);
  if (held_back > 0) append_field(line, "held_back", std::to_string(held_back));
  line.append(as_json_ ? "}" : origin_).append("\n");
  return line;
}

}  // namespace semel::telemetry
