#include "stores/redis/health.h"

#include <algorithm>

namespace semel::stores::redis {

ServerClock::ServerClock(const Instant& asked, SteadyTime answered, Time theirs) {
  const Duration ours = asked.wall.time_since_epoch() - asked.steady.time_since_epoch();
  const Duration latest = theirs.time_since_epoch() - asked.steady.time_since_epoch();
  const Duration earliest = theirs.time_since_epoch() - answered.time_since_epoch();
  apart_ = std::clamp(ours, earliest, latest);
}

std::optional<Time> time_of(const resp::RespReply& reply) {
  if (reply.is_error() || reply.size() != 2) return std::nullopt;
  const auto seconds = reply.at(0).number();
  const auto microseconds = reply.at(1).number();
  if (!seconds || !microseconds) return std::nullopt;
  constexpr long long kSecondsMax = 1LL << 40;  // so that milliseconds cannot overflow
  if (*seconds < 0 || *seconds > kSecondsMax) return std::nullopt;
  return Time(Duration(*seconds * 1000 + *microseconds / 1000));
}

std::string_view info_field(std::string_view info, std::string_view name) {
  for (std::size_t at = 0; at < info.size();) {
    const std::size_t end = std::min(info.find("\r\n", at), info.size());
    const std::string_view line = info.substr(at, end - at);
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ':') {
      return line.substr(name.size() + 1);
    }
    at = end + 2;
  }
  return {};
}

std::string in_words(Duration length) {
  using namespace std::chrono_literals;
  struct Unit {
    Duration size;
    const char* name;
  };
  constexpr Unit kUnits[] = {{24h, " days"}, {1h, " hours"}, {1min, " minutes"}, {1s, " seconds"}};
  const Duration absolute = length < Duration{} ? -length : length;
  for (const Unit& unit : kUnits) {
    const auto count = (absolute + unit.size / 2) / unit.size;
    if (count >= 2) return std::to_string(count) + unit.name;
  }
  return std::to_string(absolute.count()) + " ms";
}

}  // namespace semel::stores::redis
