#include "gateway/config_relay.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "gateway/config_tls.h"

namespace semel::config_file {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::size_t kAttemptsMax = 1'000'000;
constexpr std::size_t kParallelMax = 1024;
constexpr std::size_t kHeaderValueMax = 8192;

void read_headers(const Field& field, RelayDestination& out) {
  if (!is_mapping(field)) return;
  for (const Node& child : field.node().children) {
    const Field value = field.at(child.name);
    if (!may_be_given(child.name)) {
      value.error("is not the name of a header that a delivery may be given");
      continue;
    }
    std::string text;
    value.read(text, 0, kHeaderValueMax);
    if (!is_printable(text)) {
      value.error("the value of a header must be printable ASCII");
      continue;
    }
    out.headers.push_back({child.name, std::move(text)});
  }
}

constexpr std::array kDestinationKeys = std::to_array<Key<RelayDestination>>({
    {"url",
     [](const Field& f, RelayDestination& out) {
       if (std::optional<Url> url = f.parsed(parse_url)) out.url = *std::move(url);
     }},
    {"tls", [](const Field& f, RelayDestination& out) { read_upstream_tls(f, out.tls); }},
    {"timeout", [](const Field& f,
                   RelayDestination& out) { f.read(out.timeout, milliseconds(1), minutes(10)); }},
    {"headers", read_headers},
});

void read_destinations(const Field& field, RelayConfig& out) {
  if (!is_mapping(field)) return;
  for (const Node& child : field.node().children) {
    const Field value = field.at(child.name);
    if (child.name.empty() || child.name.size() > kDestinationNameMax) {
      value.error(fmt::format("the name must have 1 to {} characters", kDestinationNameMax));
      continue;
    }
    RelayDestination destination;
    destination.name = child.name;
    read_mapping(value, kDestinationKeys, destination);
    if (value.node().kind == NodeKind::mapping && value.node().find("url") == nullptr) {
      value.at("url").error(
          "required; where it is delivered to, like https://hooks.example/orders");
    }
    out.destinations.push_back(std::move(destination));
  }
}

constexpr std::array kBackoffKeys = std::to_array<Key<RelayConfig>>({
    {"min", [](const Field& f,
               RelayConfig& out) { f.read(out.backoff_min, milliseconds(1), minutes(60)); }},
    {"max",
     [](const Field& f, RelayConfig& out) {
       f.read(out.backoff_max, milliseconds(1), std::chrono::days(1));
     }},
});

constexpr std::array kRelayKeys = std::to_array<Key<RelayConfig>>({
    {"destinations", read_destinations},
    {"allow_urls", [](const Field& f, RelayConfig& out) { f.read(out.allow_urls); }},
    {"max_attempts",
     [](const Field& f, RelayConfig& out) { f.read_count(out.max_attempts, 1, kAttemptsMax); }},
    {"backoff", [](const Field& f, RelayConfig& out) { read_mapping(f, kBackoffKeys, out); }},
    {"lease",
     [](const Field& f, RelayConfig& out) { f.read(out.lease, milliseconds(300), minutes(60)); }},
    {"parallel",
     [](const Field& f, RelayConfig& out) { f.read_count(out.parallel, 1, kParallelMax); }},
    {"on_dead",
     [](const Field& f, RelayConfig& out) {
       read_choice(f, {{"skip", OnDead::skip}, {"block", OnDead::block}}, out.on_dead);
     }},
});

}  // namespace

void read_relay(const Field& field, RelayConfig& out) {
  read_mapping(field, kRelayKeys, out);
  if (out.backoff_min > out.backoff_max) {
    field.at("backoff").error("min is longer than max");
  }
  if (out.destinations.empty() && !out.allow_urls && field.node().kind == NodeKind::mapping &&
      field.node().find("destinations") == nullptr) {
    field.at("destinations").error("required, unless allow_urls is true; name at least one");
  }
}

bool may_be_given(std::string_view header_name) {
  constexpr std::array<std::string_view, 11> kReserved = {
      "host",       "content-length", "transfer-encoding",
      "connection", "keep-alive",     "te",
      "trailer",    "upgrade",        "expect",
      "user-agent", "idempotency-key"};
  const std::string name = lower_case(header_name);
  return is_token(name) && !name.starts_with("proxy-") && std::ranges::count(kReserved, name) == 0;
}

std::expected<RelayDestination, std::string> destination_of(std::string_view name,
                                                            std::string_view url) {
  auto parsed = parse_url(url);
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  RelayDestination destination;
  destination.name = name;
  destination.url = *std::move(parsed);
  return destination;
}

}  // namespace semel::config_file
