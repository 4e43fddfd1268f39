#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "semel/answer.h"
#include "semel/time.h"

// The outcome of an execution:
//
//   if (bank.is_closed()) return {.kind = OutcomeKind::retry, .reason = "the bank is closed"};
//   if (!bank.answered()) return {.kind = OutcomeKind::unknown, .reason = "no answer"};
//   return {.kind = OutcomeKind::final, .answer = {201, {}, receipt}};
namespace semel {

// The outcome of an execution. "Unknown" is not "failed": nobody knows whether the effect happened.
enum class OutcomeKind { final, retry, unknown };
std::string_view to_string(OutcomeKind kind);

// How the last attempt ended, as far as a program decides by it; the text beside it is for people
// and never decides anything. The numbers are part of the record format.
enum class ReasonCode : std::uint8_t {
  none = 0,              // no attempt has ended under the record's token
  other = 1,             // only the text says
  executor_status = 2,   // the executor answered; the text is its status, which its client may see
  observed_unknown = 3,  // `mode: observe`: the outcome is unknown, although the state is completed
  operator_decision = 4,  // an operator completed or released the record
};

struct Outcome {
  OutcomeKind kind = OutcomeKind::unknown;
  // The answer for the client. If the outcome is final, it is also stored and replayed.
  Answer answer = {};
  std::string reason = {};  // "status 503", "connection refused", "no answer within 30s"
  ReasonCode reason_code = ReasonCode::other;
  // The resource that a final execution made. Stored in the record, for people.
  std::string resource_type = {};
  std::string resource_id = {};
  // Set for an outcome that is not final, if the record keeps the request: queues the request
  // again, due after this long, because nobody else would bring it back.
  std::optional<Duration> queue_again_after = {};
};

// How an operation treats a key whose outcome is unknown. hold: refuses it until somebody resolves
// it. retry: executes it again. fail: answers that it failed. probe: like hold, until the executor
// has been asked and has reported the outcome.
enum class UnknownPolicy { hold, retry, fail, probe };

}  // namespace semel
