#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "semel/answer.h"
#include "semel/claim.h"

// The result of an inbox, which says how to settle the message with its broker:
//
//   if (std::holds_alternative<inbox::Done>(result)) return broker.acknowledge(message);
//   if (std::holds_alternative<inbox::Again>(result)) return broker.redeliver(message);
//   broker.put_aside(message);
namespace semel {

// The result of handling a message; it determines what to tell the broker.
namespace inbox {
// The message is done, durably: acknowledge it. (Inside a transaction: after COMMIT.)
struct Done {
  Answer answer;        // the handler's, from this call or from the earlier one
  bool before = false;  // the message had been done before: the handler was not called
};
// The message is not done: have it delivered again, later.
struct Again {
  std::string why;
  std::uint32_t attempt = 0;  // attempts so far; 0: somebody else is working on it, or no store
};
// The handler was called, and nobody knows whether it took effect. It is not called again under
// `unknown: hold`: put the message aside.
struct Unknown {
  RecordId record;
  std::string why;
};
// Another message has used the id, or the record of the id has expired: put the message aside.
struct Refused {
  std::string why;
};
}  // namespace inbox
using InboxResult = std::variant<inbox::Done, inbox::Again, inbox::Unknown, inbox::Refused>;

}  // namespace semel
