#include "http/fields/retry_after.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <string>

namespace semel::http {
namespace {

// Parses a date like "Sun, 06 Nov 1994 08:49:37 GMT".
std::optional<std::int64_t> seconds_of_date(const std::string& text) {
  std::tm parts{};
  const char* end = strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return timegm(&parts);
}

}  // namespace

std::optional<Duration> parse_retry_after(std::string_view text, Time now, Duration longest) {
  std::uint32_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error == std::errc() && end == text.data() + text.size()) {
    return std::min<Duration>(std::chrono::seconds(seconds), longest);
  }
  const auto date = seconds_of_date(std::string(text));
  if (!date) return std::nullopt;
  const Duration left = std::chrono::seconds(*date) - now.time_since_epoch();
  return std::clamp(left, Duration(0), longest);
}

}  // namespace semel::http
