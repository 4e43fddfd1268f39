#include "config/reading/values.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>

#include "base/text.h"

namespace semel::config::reading {
namespace {

constexpr std::size_t kShownLengthMax = 64;
constexpr std::size_t kExpandedLengthMax = 4096;
constexpr std::string_view kTokenPunctuation = "!#$%&'*+-.^_`|~";
constexpr std::size_t kHostNameLengthMax = 253;

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};
// From the largest, so that formatting finds the shortest form first.
constexpr std::array kDurationUnits = {Unit{"d", 86'400'000}, Unit{"h", 3'600'000},
                                       Unit{"m", 60'000}, Unit{"s", 1000}, Unit{"ms", 1}};
constexpr std::array kSizeUnits = {Unit{"GiB", 1ULL << 30}, Unit{"MiB", 1ULL << 20},
                                   Unit{"KiB", 1ULL << 10}, Unit{"", 1}};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_name_character(char c) {
  return is_letter(c) || is_digit(c) || c == '_';
}

struct Amount {
  std::uint64_t number;
  std::string_view unit;
};

std::optional<Amount> split_amount(std::string_view text) {
  const std::size_t digits = std::ranges::find_if_not(text, is_digit) - text.begin();
  Amount amount{0, text.substr(digits)};
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, amount.number);
  if (digits == 0 || error != std::errc()) return std::nullopt;
  return amount;
}

std::string format_amount(std::uint64_t number, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (number != 0 && number % unit.factor == 0) {
      return fmt::format("{}{}", number / unit.factor, unit.name);
    }
  }
  return "0";
}

std::optional<in6_addr> parse_v6(std::string_view text) {
  in6_addr address;
  // A NUL would end the text early.
  if (!is_printable(text) || inet_pton(AF_INET6, std::string(text).c_str(), &address) != 1) {
    return std::nullopt;
  }
  return address;
}

bool is_v4(std::string_view text) {
  in_addr address;
  return is_printable(text) && inet_pton(AF_INET, std::string(text).c_str(), &address) == 1;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  const Parsed<std::uint64_t> number = parse_number(text);
  if (!number || *number > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(*number);
}

bool is_host_name(std::string_view text) {
  const auto allowed = [](char c) { return is_name_character(c) || c == '-' || c == '.'; };
  if (text.empty() || text.size() > kHostNameLengthMax || !std::ranges::all_of(text, allowed) ||
      text.front() == '.' || text.front() == '-' || text.contains("..")) {
    return false;
  }
  // 10.0.0.300 is a mistyped address, not a name.
  const std::string_view last_label = text.substr(text.rfind('.') + 1);
  return last_label.empty() || !std::ranges::all_of(last_label, is_digit);
}

struct Authority {
  std::string_view host;  // IPv6 without its brackets
  bool in_brackets = false;
  std::optional<std::string_view> port;
};

std::optional<Authority> split_authority(std::string_view text) {
  Authority authority;
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    authority.host = text.substr(1, close - 1);
    authority.in_brackets = true;
    rest = text.substr(close + 1);
  } else {
    authority.host = text.substr(0, text.find(':'));
    rest = text.substr(authority.host.size());
  }
  if (rest.starts_with(':')) {
    authority.port = rest.substr(1);
  } else if (!rest.empty()) {
    return std::nullopt;
  }
  return authority;
}

bool is_address(const Authority& authority) {
  return authority.in_brackets ? parse_v6(authority.host).has_value() : is_v4(authority.host);
}

constexpr std::string_view kHttp = "http://";
constexpr std::string_view kHttps = "https://";

struct SplitUrl {
  bool tls;
  std::string_view authority;
  std::string_view rest;  // from the first '/' or '?'
};

std::optional<SplitUrl> split_url(std::string_view text) {
  const bool tls = base::lower_case(text.substr(0, kHttps.size())) == kHttps;
  if (!tls && base::lower_case(text.substr(0, kHttp.size())) != kHttp) return std::nullopt;
  text.remove_prefix(tls ? kHttps.size() : kHttp.size());
  const std::size_t end = std::min(text.find_first_of("/?"), text.size());
  return SplitUrl{tls, text.substr(0, end), text.substr(end)};
}

Parsed<HostPort> parse_address(std::string_view text, bool tls) {
  const std::optional<Authority> authority = split_authority(text);
  if (!authority ||
      !(is_address(*authority) || (!authority->in_brackets && is_host_name(authority->host)))) {
    return std::unexpected("has no valid host");
  }
  HostPort address{std::string(authority->host), default_port(tls)};
  if (!authority->port) return address;
  const std::optional<std::uint16_t> port = parse_port(*authority->port);
  if (!port || *port == 0) {
    return std::unexpected("has no valid port; it must be between 1 and 65535");
  }
  address.port = *port;
  return address;
}

}  // namespace

Parsed<std::uint64_t> parse_number(std::string_view text) {
  const std::optional<Amount> amount = split_amount(text);
  if (!amount || !amount->unit.empty()) return std::unexpected("is not a whole number");
  return amount->number;
}

Parsed<Duration> parse_duration(std::string_view text) {
  if (text == "0") return Duration(0);
  const std::optional<Amount> amount = split_amount(text);
  const auto unit = std::ranges::find(kDurationUnits, amount ? amount->unit : "", &Unit::name);
  if (unit == kDurationUnits.end()) {
    return std::unexpected(
        "is not a duration; write a whole number and a unit: 500ms, 5s, 10m, 24h or 7d");
  }
  if (amount->number > static_cast<std::uint64_t>(kDurationMax.count()) / unit->factor) {
    return std::unexpected(fmt::format("is longer than {}", format_duration(kDurationMax)));
  }
  return Duration(static_cast<Duration::rep>(amount->number * unit->factor));
}

Parsed<std::uint64_t> parse_size(std::string_view text) {
  const std::optional<Amount> amount = split_amount(text);
  const auto unit = std::ranges::find(kSizeUnits, amount ? amount->unit : "?", &Unit::name);
  if (unit == kSizeUnits.end() || amount->number > UINT64_MAX / unit->factor) {
    return std::unexpected("is not a size; write 64KiB, 1MiB, 1GiB or a number of bytes");
  }
  return amount->number * unit->factor;
}

Parsed<HostPort> parse_listen(std::string_view text) {
  if (text.starts_with(':') && parse_port(text.substr(1))) {
    return std::unexpected(
        fmt::format("names no address; write 127.0.0.1{0}, or 0.0.0.0{0} for all addresses", text));
  }
  const std::optional<Authority> authority = split_authority(text);
  if (!authority || !authority->port || !is_address(*authority)) {
    return std::unexpected(
        "is not an address to listen on; write an IP address and a port: 127.0.0.1:8080 or "
        "[::1]:8080");
  }
  const std::optional<std::uint16_t> port = parse_port(*authority->port);
  if (!port) return std::unexpected("has no valid port; it must be between 0 and 65535");
  return HostPort{std::string(authority->host), *port};
}

Parsed<Upstream> parse_upstream(std::string_view text) {
  const std::optional<SplitUrl> url = split_url(text);
  if (!url) {
    return std::unexpected("is not an upstream; write http://host:port or http://host:port/base");
  }
  if (text.find_first_of("?#@") != std::string_view::npos) {
    return std::unexpected("must not have a query, a fragment or a user name");
  }
  Parsed<HostPort> address = parse_address(url->authority, url->tls);
  if (!address) return std::unexpected(std::move(address.error()));
  std::string_view base = url->rest;
  if (!is_printable(base) || base.contains(' ')) {
    return std::unexpected("has a base path with characters that must be escaped as %XX");
  }
  while (base.ends_with('/')) base.remove_suffix(1);
  return Upstream{url->tls, *std::move(address), std::string(base)};
}

Parsed<Url> parse_url(std::string_view text) {
  const std::optional<SplitUrl> url = split_url(text);
  if (!url) return std::unexpected("is not a URL; write it like http://host:port/path");
  if (text.find_first_of("#@") != std::string_view::npos) {
    return std::unexpected("must not have a fragment or a user name");
  }
  Parsed<HostPort> address = parse_address(url->authority, url->tls);
  if (!address) return std::unexpected(std::move(address.error()));
  if (!is_printable(url->rest) || url->rest.contains(' ')) {
    return std::unexpected("has characters that must be escaped as %XX");
  }
  const std::string_view slash = url->rest.starts_with('/') ? "" : "/";
  return Url{url->tls, *std::move(address), fmt::format("{}{}", slash, url->rest)};
}

Parsed<AddressRange> parse_address_range(std::string_view text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::string_view address = text.substr(0, slash);
  const std::optional<in6_addr> v6 = parse_v6(address);
  if (!v6 && !is_v4(address)) {
    return std::unexpected("is not an address; write 10.1.2.3, 10.0.0.0/8, ::1 or fd00::/8");
  }
  if (v6 && IN6_IS_ADDR_V4MAPPED(&*v6)) {
    return std::unexpected("is an IPv4 address written as IPv6; write it as IPv4");
  }
  if (slash < text.size()) {
    const unsigned bits_max = v6 ? 128 : 32;
    const std::string_view digits = text.substr(slash + 1);
    const Parsed<std::uint64_t> bits = parse_number(digits);
    if (!bits || *bits > bits_max || (digits.size() > 1 && digits.starts_with('0'))) {
      return std::unexpected(fmt::format("must end in a prefix length from 0 to {}", bits_max));
    }
  }
  return AddressRange{std::string(text)};
}

Parsed<std::string> expand_environment(std::string_view text, const Environment& environment) {
  std::string out;
  while (!text.empty()) {
    const std::size_t dollar = std::min(text.find('$'), text.size());
    out += text.substr(0, dollar);
    text.remove_prefix(dollar);
    if (text.starts_with("$$")) {
      out += '$';
      text.remove_prefix(2);
    } else if (text.starts_with("${")) {
      const std::size_t close = text.find('}');
      if (close == std::string_view::npos) return std::unexpected("has a '${' without its '}'");
      const std::string_view inside = text.substr(2, close - 2);
      const std::size_t colon = std::min(inside.find(":-"), inside.size());
      const std::string name(inside.substr(0, colon));
      const bool has_default = colon < inside.size();
      if (name.empty() || is_digit(name.front()) || !std::ranges::all_of(name, is_name_character)) {
        return std::unexpected(
            "has a '${' without a variable name; write ${NAME} or ${NAME:-default}");
      }
      if (inside.contains("${")) {
        return std::unexpected(
            "has a variable inside the default of another; write the default as plain text");
      }
      const auto variable = environment.find(name);
      if (variable != environment.end() && !(has_default && variable->second.empty())) {
        out += variable->second;
      } else if (has_default) {
        out += inside.substr(colon + 2);
      } else {
        return std::unexpected(
            fmt::format("needs the environment variable {0}, which is not set; set it or write "
                        "${{{0}:-default}}",
                        name));
      }
      text.remove_prefix(close + 1);
    } else if (!text.empty()) {
      return std::unexpected(
          "has a lone '$'; write ${NAME} for a variable or $$ for the character");
    }
    if (out.size() > kExpandedLengthMax) {
      return std::unexpected(fmt::format("is longer than {} characters", kExpandedLengthMax));
    }
  }
  return out;
}

std::string format_duration(Duration duration) {
  const std::string text =
      format_amount(static_cast<std::uint64_t>(duration.count()), kDurationUnits);
  return text == "0" ? "0s" : text;
}

std::string format_size(std::uint64_t bytes) {
  return format_amount(bytes, kSizeUnits);
}

bool is_host(std::string_view text) {
  return is_host_name(text) || is_v4(text) || parse_v6(text).has_value();
}

bool is_loopback(const std::string& host) {
  if (is_v4(host)) return host.starts_with("127.");
  const std::optional<in6_addr> v6 = parse_v6(host);
  return v6 && IN6_IS_ADDR_LOOPBACK(&*v6);
}

bool is_everyone(const AddressRange& range) {
  return range.text.ends_with("/0");
}

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_letter(c) || is_digit(c) || kTokenPunctuation.contains(c);
  });
}

bool is_name(std::string_view text) {
  return !text.empty() && !is_digit(text.front()) && std::ranges::all_of(text, is_name_character);
}

std::string shown(std::string_view text) {
  std::string out(text.substr(0, kShownLengthMax));
  for (char& c : out) c = is_printable({&c, 1}) ? c : '?';
  return text.size() > kShownLengthMax ? out + "…" : out;
}

std::string quote(std::string_view text) {
  return fmt::format("'{}'", shown(text));
}

}  // namespace semel::config::reading
