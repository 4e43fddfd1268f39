#include "stores/cleanup_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <optional>

namespace semel::stores {
namespace {

using std::chrono::minutes;

constexpr int kHoursPerDay = 24;
constexpr int kMinutesPerHour = 60;

// Parses "02:00"; "24:00" is the end of the day.
std::optional<minutes> parse_time_of_day(std::string_view text) {
  constexpr std::string_view kForm = "00:00";
  if (text.size() != kForm.size() || text[2] != ':') return std::nullopt;
  const auto number = [&](std::size_t at) -> std::optional<int> {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (!is_digit(text[at]) || !is_digit(text[at + 1])) return std::nullopt;
    return (text[at] - '0') * 10 + (text[at + 1] - '0');
  };
  const auto hours = number(0);
  const auto past = number(3);
  if (!hours || !past || *past >= kMinutesPerHour) return std::nullopt;
  const minutes since_midnight(*hours * kMinutesPerHour + *past);
  if (since_midnight > std::chrono::hours(kHoursPerDay)) return std::nullopt;
  return since_midnight;
}

}  // namespace

std::string to_string(const CleanupWindow& window) {
  const auto text = [](minutes at) {
    return fmt::format("{:02}:{:02}", at.count() / kMinutesPerHour, at.count() % kMinutesPerHour);
  };
  return text(window.from) + "-" + text(window.to);
}

bool CleanupWindow::contains(Time now) const {
  const std::time_t seconds =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  std::tm local{};
  if (localtime_r(&seconds, &local) == nullptr) return true;
  const minutes at(local.tm_hour * kMinutesPerHour + local.tm_min);
  return from < to ? from <= at && at < to : from <= at || at < to;
}

bool is_work(const Record& record) {
  return record.state == RecordState::queued || record.state == RecordState::in_progress;
}

std::expected<CleanupWindow, std::string> parse_cleanup_window(std::string_view text) {
  constexpr auto kForm = "must be always, or two times of the day, as in 02:00-05:00";
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::unexpected(kForm);
  const auto from = parse_time_of_day(text.substr(0, dash));
  const auto to = parse_time_of_day(text.substr(dash + 1));
  if (!from || !to) return std::unexpected(kForm);
  if (*from == *to) return std::unexpected("ends when it begins; write always for the whole day");
  return CleanupWindow{.from = *from, .to = *to};
}

}  // namespace semel::stores
