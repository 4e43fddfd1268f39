#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "semel/record.h"

namespace semel {

// What an execution produced. "Unknown" is not "failed": nobody knows whether the effect happened.
enum class OutcomeKind { final, retry, unknown };
std::string_view to_string(OutcomeKind kind);

struct Outcome {
  OutcomeKind kind = OutcomeKind::unknown;
  // What the client is answered. Final: also what is stored and replayed.
  Answer answer;
  std::string reason;  // "status 503", "connection refused", "no answer within 30s"
  // What a final one made, for people: kept in the record.
  std::string resource_type = {};
  std::string resource_id = {};
  // Of one that is not final, where the record keeps the request: it is queued again, and due after
  // so long, since nobody else would bring it back.
  std::optional<Duration> queue_again_after = {};
};

// Statuses by their outcome. Unlisted statuses keep the standard meaning (docs/spec.md 7).
class OutcomeRules {
 public:
  static OutcomeRules standard();
  // Only 503 among 5xx is retry; every other 5xx is unknown.
  static OutcomeRules cautious();
  // Entries are a status ("503") or a class ("5xx"); a status wins over a class. Returns what is
  // wrong with an entry, or nullopt.
  std::optional<std::string> set(OutcomeKind kind, const std::vector<std::string>& statuses);

  // `said`: the value of the executor's Idempotency-Outcome header, empty if it sent none; an
  // unknown word is ignored. 409 and 423 in answer to an attempt after the first are retry, unless
  // the configuration lists them.
  OutcomeKind classify(int status, std::uint32_t attempt, std::string_view said) const;

 private:
  // How firmly the configuration has said it: the later wins over the earlier.
  enum class Listed : std::uint8_t { no, by_class, by_status };

  OutcomeKind by_status_[600] = {};
  Listed listed_[600] = {};
};

// An authentication failure says nothing about the operation: its release is kept only shortly.
constexpr bool is_auth_failure(int status) {
  return status == 401 || status == 403 || status == 407;
}

}  // namespace semel
