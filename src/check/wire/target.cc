#include "check/wire/target.h"

#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/text.h"

namespace semel::check {
namespace {

constexpr std::string_view kDefaultPort = "80";
constexpr std::string_view kDefaultTlsPort = "443";

bool is_visible(char c) {
  return c > ' ' && c < '\x7f';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    return (ntohl(v4->sin_addr.s_addr) >> 24) == 127;
  }
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
  return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

}  // namespace

std::string Target::authority() const {
  std::string out = host.contains(':') ? "[" + host + "]" : host;
  if (port != (tls ? kDefaultTlsPort : kDefaultPort)) out += ":" + port;
  return out;
}

std::string Target::url() const {
  return (tls ? "https://" : "http://") + authority() + path;
}

std::expected<Target, std::string> parse_target(std::string_view url) {
  Target target;
  if (url.starts_with("https://")) {
    target.tls = true;
    url.remove_prefix(8);
  } else if (url.starts_with("http://")) {
    url.remove_prefix(7);
  } else {
    return std::unexpected("must begin with http:// or https://");
  }
  if (!std::ranges::all_of(url, is_visible))
    return std::unexpected("has a space or a control byte");
  url = url.substr(0, url.find('#'));
  const std::size_t slash = url.find_first_of("/?");
  std::string_view authority = url.substr(0, slash);
  target.path = slash == std::string_view::npos ? "/" : std::string(url.substr(slash));
  if (target.path.starts_with('?')) target.path.insert(0, "/");
  if (authority.contains('@')) {
    return std::unexpected("has a user or password; use -H 'Authorization: …'");
  }
  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos) return std::unexpected("has a [ without its ]");
    target.host = authority.substr(1, end - 1);
    port = authority.substr(end + 1);
  } else {
    target.host = authority.substr(0, authority.find(':'));
    port = authority.substr(target.host.size());
  }
  if (port.starts_with(':')) port.remove_prefix(1);
  if (target.host.empty()) return std::unexpected("has no host");
  if (!std::ranges::all_of(port, is_digit) || port.size() > 5) {
    return std::unexpected("has a port that is no number");
  }
  target.port = !port.empty() ? port : target.tls ? kDefaultTlsPort : kDefaultPort;
  return target;
}

bool is_loopback(const Target& target) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(target.host.c_str(), target.port.c_str(), &hints, &found) != 0) return false;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (!is_loopback(one->ai_addr)) return false;
  }
  return found != nullptr;
}

bool looks_like_production(std::string_view host) {
  static constexpr std::array<std::string_view, 10> kHarmless = {
      "test", "staging", "stage", "sandbox", "dev", "local", "demo", "preview", "qa", ".internal"};
  const std::string name = base::lower_case(host);
  return std::ranges::none_of(kHarmless,
                              [&](std::string_view word) { return name.contains(word); });
}

}  // namespace semel::check
