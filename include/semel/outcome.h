#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "semel/record.h"

namespace semel {

// The outcome of an execution. "Unknown" is not "failed": nobody knows whether the effect happened.
enum class OutcomeKind { final, retry, unknown };
std::string_view to_string(OutcomeKind kind);

struct Outcome {
  OutcomeKind kind = OutcomeKind::unknown;
  // The answer for the client. If the outcome is final, it is also stored and replayed.
  Answer answer;
  std::string reason;  // "status 503", "connection refused", "no answer within 30s"
  // The resource that a final execution made. Stored in the record, for people.
  std::string resource_type = {};
  std::string resource_id = {};
  // Set for an outcome that is not final, if the record keeps the request: queues the request
  // again, due after this long, because nobody else would bring it back.
  std::optional<Duration> queue_again_after = {};
};

// Maps statuses to outcomes. Unlisted statuses keep the standard meaning (docs/spec.md 7).
class OutcomeRules {
 public:
  static OutcomeRules standard();
  // Treats 503 as retry and every other 5xx as unknown.
  static OutcomeRules cautious();
  // Assigns `kind` to statuses. An entry is a status ("503") or a class ("5xx"); a status wins over
  // a class. Returns nullopt, or a description of the error in an entry.
  std::optional<std::string> set(OutcomeKind kind, const std::vector<std::string>& statuses);

  // Returns the outcome of an answer. `said` is the value of the executor's Idempotency-Outcome
  // header, empty if it sent none; an unknown word is ignored. In answer to an attempt after the
  // first, 409 and 423 are retry, unless the configuration lists them.
  OutcomeKind classify(int status, std::uint32_t attempt, std::string_view said) const;

 private:
  // How specifically the configuration lists a status: a later enumerator wins over an earlier one.
  enum class Listed : std::uint8_t { no, by_class, by_status };

  OutcomeKind by_status_[600] = {};
  Listed listed_[600] = {};
};

// True for an authentication failure. It says nothing about the operation, so a record released by
// it is kept only for a short time.
constexpr bool is_auth_failure(int status) {
  return status == 401 || status == 403 || status == 407;
}

}  // namespace semel
