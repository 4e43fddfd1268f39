#pragma once

#include <optional>
#include <string>

#include "semel/answer.h"
#include "semel/client.h"

namespace semel::client {

// What a status resource says about the operation that a 202 announced.
struct OperationStatus {
  bool pending = false;
  Sent::End end = Sent::End::answered;
  std::optional<Answer> answer;  // the operation's own; nullopt: the one of the status resource
  std::string why;
};

// 202 is pending everywhere. Semel's own resource tells its state in JSON; any other answer of 2xx
// is taken for the operation's.
OperationStatus read_status(const Answer& answer);

}  // namespace semel::client
