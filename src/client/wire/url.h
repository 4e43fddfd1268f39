#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace semel::client {

struct Origin {
  bool tls = false;
  std::string host;  // in lower case; an IPv6 address without its brackets
  std::uint16_t port = 0;
  bool operator==(const Origin&) const = default;
  std::string host_field() const;  // as the Host field has it
};

struct Url {
  Origin origin;
  std::string target;  // path and query, as they are sent
};

// Takes http and https. The error is a phrase that says what to change.
std::expected<Url, std::string> parse_url(std::string_view text);

// Returns true if the text can stand in a request line: printable ASCII without blanks.
bool is_sendable_target(std::string_view text);

// Resolves the value of a Location field: an absolute URL, or a path from the root. nullopt: it is
// neither, and is not followed.
std::optional<Url> resolve(const Url& base, std::string_view location);

}  // namespace semel::client
