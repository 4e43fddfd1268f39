#include "admin/live/live.h"

#include <boost/json/array.hpp>
#include <charconv>

#include "admin/admin_answer.h"
#include "admin/live/live_json.h"
#include "admin/live/status.h"
#include "admin/parameters.h"
#include "config/reading/values.h"

namespace semel::admin {
namespace json = boost::json;
using boost::asio::awaitable;

namespace {

constexpr Duration kSecond = std::chrono::seconds(1);
constexpr std::size_t kPointsMax = telemetry::History::kLength / kSecond;

std::optional<std::string> read_step(std::string_view value, Duration& out) {
  const auto parsed = config::reading::parse_duration(value);
  if (!parsed || std::ranges::count(telemetry::History::kSteps, *parsed) == 0) {
    return "step: must be 1s, 10s or 1m";
  }
  out = *parsed;
  return std::nullopt;
}

std::optional<std::string> read_seq(std::string_view value, std::uint64_t& out) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
  if (error == std::errc() && end == value.data() + value.size()) return std::nullopt;
  return "after: must be the seq of a decision";
}

}  // namespace

Live::Live(server::Process& process)
    : process_(process),
      services_(process.services()),
      started_at_(process.machine_clock().now()) {}

awaitable<void> Live::sample() {
  Clock& clock = process_.machine_clock();
  for (;;) {
    co_await clock.sleep(kSecond - clock.now().time_since_epoch() % kSecond);
    const Time now = clock.now();
    const Engine::Running running = services_.engine.running();
    telemetry::History::Gauges gauges;
    gauges.in_progress = static_cast<std::uint32_t>(running.executions);
    if (running.oldest) {
      const std::chrono::duration<float> age = services_.clock.now() - *running.oldest;
      gauges.oldest_in_progress_seconds = std::max(0.0F, age.count());
    }
    gauges.unknown_records = services_.store.stats().unknown_records;
    // The timer may fire a little early or late.
    const Time at = Time(std::chrono::round<std::chrono::seconds>(now.time_since_epoch()));
    history_.take(at - kSecond, services_.metrics, gauges);
  }
}

Answer Live::status(const std::string& query, const std::optional<std::string>& who) {
  if (const auto wrong = no_parameters(query)) return problem_answer(400, "bad-query", *wrong);
  return json_answer(200, status_json(process_, started_at_, who));
}

Answer Live::stats(const std::string& query) const {
  Duration step = telemetry::History::kSteps.front();
  std::size_t limit = kPointsMax;
  const auto wrong = for_parameters(query, [&](std::string_view name, std::string_view value) {
    if (name == "limit") return read_count(name, value, kPointsMax, limit);
    return name == "step" ? read_step(value, step) : unknown_parameter(name, "step or limit");
  });
  if (wrong) return problem_answer(400, "bad-query", *wrong);
  const std::deque<telemetry::HistoryPoint>& kept = history_.points(step);
  json::array points;
  for (std::size_t i = kept.size() - std::min(limit, kept.size()); i < kept.size(); ++i) {
    points.push_back(point_json(kept[i]));
  }
  return json_answer(
      200, {{"step_seconds", std::chrono::duration_cast<std::chrono::seconds>(step).count()},
            {"points", std::move(points)}});
}

Answer Live::decisions(const std::string& query) const {
  std::size_t limit = 50;
  std::uint64_t after = 0;
  const auto wrong = for_parameters(query, [&](std::string_view name, std::string_view value) {
    if (name == "limit") {
      return read_count(name, value, telemetry::RecentDecisions::kKept, limit);
    }
    return name == "after" ? read_seq(value, after) : unknown_parameter(name, "limit or after");
  });
  if (wrong) return problem_answer(400, "bad-query", *wrong);
  const auto found = services_.decisions.latest(after, limit);
  json::array newest_first;
  for (auto one = found.rbegin(); one != found.rend(); ++one) {
    newest_first.push_back(decision_json(*one, process_.settings()));
  }
  const std::uint64_t last = found.empty() ? services_.decisions.last() : found.back().seq;
  return json_answer(200, {{"decisions", std::move(newest_first)}, {"last", last}});
}

}  // namespace semel::admin
