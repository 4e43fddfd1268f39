#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "semel/outcome.h"

// Tells the outcome of an execution by the status of its answer:
//
//   OutcomeRules rules = OutcomeRules::standard();
//   if (auto set = rules.set(OutcomeKind::retry, {"502", "504"}); !set) refuse(set.error());
//   const OutcomeKind kind = rules.classify(answer.status, attempt, "");
namespace semel {

// Maps statuses to outcomes. Unlisted statuses keep the standard meaning (docs/spec.md 7).
class OutcomeRules {
 public:
  static OutcomeRules standard();
  // Treats 503 as retry and every other 5xx as unknown.
  static OutcomeRules cautious();
  // Assigns `kind` to statuses. An entry is a status ("503") or a class ("5xx"); a status wins over
  // a class. The error describes what is wrong with an entry; nothing was assigned then.
  std::expected<void, std::string> set(OutcomeKind kind, const std::vector<std::string>& statuses);

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
