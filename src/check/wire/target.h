#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace semel::check {

// One address that requests are sent to: http(s)://host[:port]/path?query.
struct Target {
  bool tls = false;
  std::string host;  // without brackets
  std::string port;
  std::string path;  // with the query; never empty

  // The value of the Host field: without a default port.
  std::string authority() const;
  std::string url() const;
};

// The error completes the sentence "'<url>' …".
std::expected<Target, std::string> parse_target(std::string_view url);

// Returns whether every address that the name stands for is this machine's own.
bool is_loopback(const Target& target);

// Returns whether the name looks like that of a system whose effects are real: nothing in it says
// test, staging, sandbox, dev, local …
bool looks_like_production(std::string_view host);

}  // namespace semel::check
