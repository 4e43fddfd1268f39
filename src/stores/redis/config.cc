#include "stores/redis/config.h"

#include <charconv>
#include <optional>

#include "base/percent.h"

namespace semel::stores {
namespace {

constexpr unsigned kDatabaseMax = 65535;

template <typename Number>
std::optional<Number> number(std::string_view digits) {
  Number value{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || digits.empty() || end != digits.data() + digits.size()) {
    return std::nullopt;
  }
  return value;
}

bool is_host(std::string_view host) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:";
  return !host.empty() && host.size() <= 255 &&
         host.find_first_not_of(kAllowed) == std::string_view::npos;
}

}  // namespace

std::string RedisAddress::text() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::expected<RedisAddress, std::string> parse_redis_address(std::string_view text,
                                                             std::uint16_t default_port) {
  RedisAddress address{.host = {}, .port = default_port};
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::unexpected("has a '[' without its ']'");
    address.host = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    if (!text.empty() && text.front() != ':') return std::unexpected("must be host:port");
    if (!text.empty()) port = text.substr(1);
    if (!text.empty() && port.empty()) return std::unexpected("must be host:port");
  } else {
    const std::size_t colon = text.find(':');
    address.host = text.substr(0, colon);
    if (colon != std::string_view::npos) {
      port = text.substr(colon + 1);
      if (port.empty()) return std::unexpected("must be host:port");
    }
  }
  if (!is_host(address.host)) return std::unexpected("must name a host, as in cache.example:6379");
  if (!port.empty()) {
    const auto parsed = number<std::uint16_t>(port);
    if (!parsed || *parsed == 0) return std::unexpected("must have a port from 1 to 65535");
    address.port = *parsed;
  }
  return address;
}

std::expected<RedisUrl, std::string> parse_redis_url(std::string_view text) {
  RedisUrl url;
  if (text.starts_with("rediss://")) {
    url.tls = true;
    text.remove_prefix(9);
  } else if (text.starts_with("redis://")) {
    text.remove_prefix(8);
  } else {
    return std::unexpected(
        "must begin with redis:// or rediss://, as in redis://cache.example:6379/0");
  }
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    const std::string_view who = text.substr(0, at);
    text.remove_prefix(at + 1);
    const std::size_t colon = who.find(':');
    if (colon == std::string_view::npos) {
      return std::unexpected("names a user without a password; write user:password@");
    }
    const auto user = base::percent_decoded(who.substr(0, colon));
    const auto password = base::percent_decoded(who.substr(colon + 1));
    if (!user || !password) return std::unexpected("has a '%' that is not a percent-encoding");
    if (password->empty()) return std::unexpected("has an empty password");
    url.user = *user;
    url.password = *password;
  }
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    const std::string_view database = text.substr(slash + 1);
    if (!database.empty()) {
      const auto parsed = number<unsigned>(database);
      if (!parsed || *parsed > kDatabaseMax) {
        return std::unexpected("must end in the number of a database, as in /0");
      }
      url.database = *parsed;
    }
    text = text.substr(0, slash);
  }
  auto address = parse_redis_address(text, 6379);
  if (!address) return std::unexpected(std::move(address.error()));
  url.address = *std::move(address);
  return url;
}

}  // namespace semel::stores
