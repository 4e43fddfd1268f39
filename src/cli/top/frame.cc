#include "cli/top/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cmath>

#include "cli/admin/command.h"

namespace semel::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t kTimeAt = 11;  // in 2026-01-02T03:04:05Z
constexpr std::size_t kTimeLength = 8;
constexpr std::size_t kGraphColumnsMax = 60;
constexpr std::size_t kRecordDigitsShown = 12;
constexpr std::size_t kKeyColumns = 13;
constexpr std::size_t kRouteColumns = 14;

const json::value* member(const json::value& object, std::string_view name) {
  return object.is_object() ? object.get_object().if_contains(name) : nullptr;
}

double number_of(const json::value& object, std::string_view name) {
  const json::value* value = member(object, name);
  return value && value->is_number() ? value->to_number<double>() : 0;
}

std::vector<json::value> list_of(const json::value& object, std::string_view name) {
  const json::value* value = member(object, name);
  if (!value || !value->is_array()) return {};
  return {value->get_array().begin(), value->get_array().end()};
}

// Collects lines that fit. Text that is painted counts without its paint.
class Lines {
 public:
  Lines(FrameSize size, const TextStyle& style) : size_(size), style_(style) {}

  void add(std::string_view text) {
    add(text, [](std::string line) { return line; });
  }
  template <class Paint>
  void add(std::string_view text, Paint paint) {
    if (lines_.size() < size_.rows) lines_.push_back(paint(first_columns(text, size_.columns)));
  }
  void add_heading(std::string_view text) {
    add(text, [this](const std::string& line) { return style_.heading(line); });
  }
  void add_fault(std::string_view text) {
    add(text, [this](const std::string& line) { return style_.fault(line); });
  }
  std::size_t left() const { return size_.rows - lines_.size(); }
  std::vector<std::string> take() { return std::move(lines_); }

 private:
  FrameSize size_;
  const TextStyle& style_;
  std::vector<std::string> lines_;
};

std::string up_text(const json::value& status) {
  return age_text(static_cast<std::int64_t>(number_of(status, "uptime_seconds")));
}

void add_status(Lines& lines, const Seen& seen) {
  const json::value& status = seen.status;
  const json::value* store = member(status, "store");
  const json::value nothing;
  lines.add_heading(fmt::format("semel {}  {}  up {}  store {}  {} workers  {} routes{}",
                                text_of(status, "version"), text_of(status, "node"),
                                up_text(status), text_of(store ? *store : nothing, "kind"),
                                text_of(status, "workers"), text_of(status, "routes"),
                                text_of(status, "draining") == "true" ? "  DRAINING" : ""));
  if (!seen.trouble.empty()) lines.add_fault(seen.trouble);
  if (!store) return;
  const std::string trouble = text_of(*store, "trouble");
  if (!trouble.empty()) lines.add_fault("store: " + trouble);
  for (const json::value& note : list_of(*store, "notes")) {
    if (note.is_string()) lines.add_fault(json::value_to<std::string>(note));
  }
}

std::string graph_of(const std::vector<json::value>& points, std::size_t columns, bool utf8) {
  constexpr std::array<std::string_view, 9> kBlocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<std::string_view, 9> kAscii = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
  const std::size_t begin = points.size() > columns ? points.size() - columns : 0;
  double most = 1;
  for (std::size_t i = begin; i < points.size(); ++i) {
    most = std::max(most, number_of(points[i], "requests"));
  }
  std::string out;
  for (std::size_t i = begin; i < points.size(); ++i) {
    const double share = number_of(points[i], "requests") / most;
    const auto level = static_cast<std::size_t>(std::ceil(share * (kBlocks.size() - 1)));
    out += (utf8 ? kBlocks : kAscii)[std::min(level, kBlocks.size() - 1)];
  }
  return out;
}

std::string quantiles_text(const json::value& point, std::string_view name) {
  const json::value* value = member(point, name);
  if (!value || !value->is_object()) return "-";
  return fmt::format("{:.1f} / {:.1f} ms", number_of(*value, "p50"), number_of(*value, "p99"));
}

// Writes "executed 12  replayed 3": results that never occurred in the time shown are left out.
std::string results_text(const std::vector<json::value>& points) {
  std::vector<std::pair<std::string, double>> sums;
  for (const json::value& point : points) {
    const json::value* results = member(point, "results");
    if (!results || !results->is_object()) continue;
    for (const auto& result : results->get_object()) {
      const std::string name(result.key());
      auto sum = std::ranges::find(sums, name, [](const auto& one) { return one.first; });
      if (sum == sums.end()) sum = sums.insert(sums.end(), {name, 0});
      sum->second += number_of(*results, name);
    }
  }
  std::string out;
  for (const auto& [name, sum] : sums) {
    if (sum > 0) out += fmt::format("{}{} {:.0f}", out.empty() ? "" : "  ", name, sum);
  }
  return out.empty() ? "no keyed requests" : out;
}

void add_stats(Lines& lines, const Seen& seen, FrameSize size, bool utf8) {
  const std::vector<json::value> points = list_of(seen.stats, "points");
  const json::value last = points.empty() ? json::value() : points.back();
  const double seconds = std::max(1.0, number_of(seen.stats, "step_seconds"));
  lines.add("");
  lines.add(fmt::format("requests    {:>8.0f} /s     in progress {:>6.0f}, oldest {:.1f} s",
                        number_of(last, "requests") / seconds, number_of(last, "in_progress"),
                        number_of(last, "oldest_in_progress_seconds")));
  lines.add(fmt::format("unknown     {:>8.0f} records", number_of(last, "unknown_records")));
  lines.add(fmt::format("store       {}     upstream {}     (p50 / p99)",
                        quantiles_text(last, "store_ms"), quantiles_text(last, "upstream_ms")));
  const std::size_t shown = std::min<std::size_t>(points.size(), kGraphColumnsMax);
  lines.add(fmt::format("last {:>3.0f} s  {}", static_cast<double>(shown) * seconds,
                        graph_of(points, std::min(kGraphColumnsMax, size.columns - 12), utf8)));
  lines.add("            " + results_text(points));
}

std::string clock_part(const std::string& time) {
  return time.size() < kTimeAt + kTimeLength ? time : time.substr(kTimeAt, kTimeLength);
}

void add_decisions(Lines& lines, const Seen& seen) {
  lines.add("");
  lines.add_heading(fmt::format("{:<8}  {:<9} {:>6} {:>8}  {:<{}}  {:<{}}  {}", "TIME", "RESULT",
                                "STATUS", "MS", "ROUTE", kRouteColumns, "KEY", kKeyColumns,
                                "RECORD"));
  for (const json::value& one : list_of(seen.decisions, "decisions")) {
    if (lines.left() <= 1) return;
    lines.add(fmt::format("{:<8}  {:<9} {:>6} {:>8.1f}  {:<{}}  {:<{}}  {}",
                          clock_part(text_of(one, "at")), text_of(one, "result"),
                          text_of(one, "status"), number_of(one, "duration_ms"),
                          cut(text_of(one, "route"), kRouteColumns), kRouteColumns,
                          cut(text_of(one, "key"), kKeyColumns), kKeyColumns,
                          text_of(one, "record").substr(0, kRecordDigitsShown)));
  }
}

}  // namespace

std::vector<std::string> draw_frame(const Seen& seen, FrameSize size, const TextStyle& style,
                                    bool utf8) {
  Lines lines(size, style);
  add_status(lines, seen);
  add_stats(lines, seen, size, utf8);
  add_decisions(lines, seen);
  while (lines.left() > 1) lines.add("");
  lines.add_heading(seen.paused ? "PAUSED   p go on   q quit" : "p pause   q quit");
  return lines.take();
}

}  // namespace semel::cli
