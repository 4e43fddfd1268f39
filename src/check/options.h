#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check/wire/message.h"

namespace semel::check {

using Milliseconds = std::chrono::milliseconds;

// The options of one run, validated: everything about the endpoint that cannot be found out from
// outside.
struct Options {
  Target target;
  std::string method = "POST";
  std::vector<Field> headers;
  std::string key_header = "Idempotency-Key";
  std::string body;           // a template; see payload.h
  bool key_required = false;  // requests without a key must be refused

  // Values of the options that unlock checks, by name: "--slow-body" and so on.
  std::map<std::string, std::string, std::less<>> extras;
  std::optional<Milliseconds> ttl;

  std::string count_url;  // with "#/pointer" at its end, if the number is inside JSON
  std::string count_command;
  std::string cleanup_command;

  std::vector<std::string> only;  // ids and families; empty: all
  int race = 12;
  int repeat = 1;
  bool strict = false;
  bool gentle = false;

  int requests_max = 300;
  int effects_max = 150;
  int rate = 0;                          // requests per second; 0: as fast as it goes
  Milliseconds timeout{300'000};         // of the whole run
  Milliseconds request_timeout{15'000};  // of one exchange
  Milliseconds patience{5'000};          // for a key that is in use to become free
  TlsOptions tls;

  // Returns the value of an option that unlocks checks; null: not given.
  const std::string* extra(std::string_view name) const {
    const auto found = extras.find(name);
    return found == extras.end() ? nullptr : &found->second;
  }
};

}  // namespace semel::check
