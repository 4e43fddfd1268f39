#pragma once

#include <array>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "semel/answer.h"
#include "semel/claim.h"
#include "semel/driver/fingerprint.h"
#include "semel/time.h"

// The bodies of requests to the service API, as JSON (docs/service.md). Every error says which
// member is wrong, and how.
namespace semel::service {

// The request that the key stands for, as a gateway's route would see it. All empty, if the key has
// nothing to do with a route.
struct RequestParts {
  std::string method;
  std::string path;
  std::string query;
  std::string content_type;
  std::map<std::string, std::string> headers;  // by lower-case name
};

// POST /v1/claims
struct ClaimBody {
  std::string operation;
  std::string key;
  std::optional<std::string> tenant;
  Token token;
  RequestParts request;
  std::string payload;
  // In place of the payload: a digest that the client made.
  std::optional<std::array<std::uint8_t, 32>> fingerprint;
  std::optional<Duration> lease;
  std::optional<Duration> ttl;
  Duration wait{0};

  // Refers to this object.
  RequestView view() const;
};
std::expected<ClaimBody, std::string> parse_claim(std::string_view text);

// POST /v1/claims/{record}/…
enum class Verb { renew, complete, release, give_up };
std::optional<Verb> parse_verb(std::string_view word);
std::string_view to_string(Verb verb);

struct ReportBody {
  Token token;
  std::optional<Duration> lease;  // renew
  Answer answer;                  // complete
  std::string reason;             // release, give-up
};
std::expected<ReportBody, std::string> parse_report(std::string_view text, Verb verb);

// Parses 64 hexadecimal digits in lower case; nullopt: it is not a record's id.
std::optional<RecordId> parse_record(std::string_view hex);

}  // namespace semel::service
