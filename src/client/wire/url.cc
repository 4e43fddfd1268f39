#include "client/wire/url.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace semel::client {
namespace {

using Refused = std::unexpected<std::string>;

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

// Splits "host:port" or "[address]:port" into `origin`. Returns false if it is neither.
bool parse_authority(std::string_view authority, Origin& origin) {
  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return false;
    origin.host = base::lower_case(authority.substr(1, close - 1));
    port = authority.substr(close + 1);
    const auto is_address = [](char c) { return is_host_character(c) || c == ':'; };
    if (!std::ranges::all_of(origin.host, is_address)) return false;
  } else {
    const std::size_t colon = std::min(authority.find(':'), authority.size());
    origin.host = base::lower_case(authority.substr(0, colon));
    port = authority.substr(colon);
    if (!std::ranges::all_of(origin.host, is_host_character)) return false;
  }
  if (origin.host.empty()) return false;
  if (port.empty()) return true;
  const char* end = port.data() + port.size();
  const auto [last, error] = std::from_chars(port.data() + 1, end, origin.port);
  return port.starts_with(':') && error == std::errc() && last == end && origin.port != 0;
}

}  // namespace

std::string Origin::host_field() const {
  std::string out = host.contains(':') ? "[" + host + "]" : host;
  if (port != (tls ? kHttpsPort : kHttpPort)) out += ":" + std::to_string(port);
  return out;
}

bool is_sendable_target(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

std::expected<Url, std::string> parse_url(std::string_view text) {
  Url url;
  const std::size_t colon = std::min(text.find("://"), text.size());
  const std::string scheme = base::lower_case(text.substr(0, colon));
  if (colon == text.size() || (scheme != "http" && scheme != "https")) {
    return Refused("the URL must begin with http:// or https://");
  }
  url.origin.tls = scheme == "https";
  url.origin.port = url.origin.tls ? kHttpsPort : kHttpPort;
  std::string_view rest = text.substr(colon + 3);
  rest = rest.substr(0, rest.find('#'));  // a fragment is never sent
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  const std::string_view authority = rest.substr(0, end);
  if (authority.contains('@')) {
    return Refused("the URL must not have a user or password; send an Authorization header");
  }
  if (!parse_authority(authority, url.origin)) return Refused("the URL has no valid host and port");
  url.target = rest.substr(end);
  if (!url.target.starts_with('/')) url.target.insert(0, "/");
  if (!is_sendable_target(url.target)) {
    return Refused("the URL has a blank or a byte that must be percent-encoded");
  }
  return url;
}

std::optional<Url> resolve(const Url& base, std::string_view location) {
  if (location.starts_with('/') && !location.starts_with("//")) {
    location = location.substr(0, location.find('#'));
    if (!is_sendable_target(location)) return std::nullopt;
    return Url{base.origin, std::string(location)};
  }
  auto absolute = parse_url(location);
  if (!absolute) return std::nullopt;
  return *std::move(absolute);
}

}  // namespace semel::client
