#include "stores/redis/cluster.h"

#include <charconv>

namespace semel::stores::redis {

std::vector<SlotRange> slot_ranges(const resp::RespReply& reply, const RedisAddress& asked) {
  std::vector<SlotRange> ranges;
  for (std::size_t i = 0; i < reply.size(); ++i) {
    const resp::RespReply entry = reply.at(i);
    const auto first = entry.at(0).number();
    const auto last = entry.at(1).number();
    const resp::RespReply master = entry.at(2);
    const auto port = master.at(1).number();
    if (!first || !last || !port || *first < 0 || *last >= kSlots || *first > *last) return {};
    std::string host(master.at(0).text());
    if (host.empty() || host == "?") host = asked.host;
    ranges.push_back(
        {.first = static_cast<Slot>(*first),
         .last = static_cast<Slot>(*last),
         .master = {.host = std::move(host), .port = static_cast<std::uint16_t>(*port)}});
  }
  return ranges;
}

std::optional<Redirect> redirect_of(std::string_view error, const RedisAddress& asked) {
  Redirect redirect;
  if (error.starts_with("MOVED ")) {
    redirect.is_permanent = true;
    error.remove_prefix(6);
  } else if (error.starts_with("ASK ")) {
    error.remove_prefix(4);
  } else {
    return std::nullopt;
  }
  const std::size_t space = error.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto [end, failed] = std::from_chars(error.data(), error.data() + space, redirect.slot);
  if (failed != std::errc() || end != error.data() + space) return std::nullopt;
  const std::string_view where = error.substr(space + 1);
  const std::size_t colon = where.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view port = where.substr(colon + 1);
  const auto [port_end, bad_port] =
      std::from_chars(port.data(), port.data() + port.size(), redirect.to.port);
  if (bad_port != std::errc() || port_end != port.data() + port.size()) return std::nullopt;
  // IPv6 comes without brackets here.
  redirect.to.host = where.substr(0, colon);
  if (redirect.to.host.empty()) redirect.to.host = asked.host;
  return redirect;
}

}  // namespace semel::stores::redis
