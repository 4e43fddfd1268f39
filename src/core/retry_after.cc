#include "core/retry_after.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <string>

namespace semel::core {

std::optional<Time> parse_http_date(std::string_view text) {
  std::tm parts{};
  const std::string ended(text);
  const char* end = strptime(ended.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return Time(std::chrono::seconds(timegm(&parts)));
}

std::optional<Duration> parse_retry_after(std::string_view text, Time now, Duration longest) {
  std::uint32_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error == std::errc() && end == text.data() + text.size()) {
    return std::min<Duration>(std::chrono::seconds(seconds), longest);
  }
  const auto date = parse_http_date(text);
  if (!date) return std::nullopt;
  return std::clamp(*date - now, Duration(0), longest);
}

}  // namespace semel::core
