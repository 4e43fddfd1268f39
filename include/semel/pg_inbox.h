#pragma once

#include <string>
#include <string_view>

#include "semel/inbox_result.h"
#include "semel/pg.h"

// An inbox for message consumers, in PostgreSQL:
//
//   const Inbox inbox({.name = "payments", .ttl = std::chrono::days(7)}, "shop");
//   const InboxResult result = inbox.once_by_itself(connection, message.id, message.body, handler);
//   if (std::holds_alternative<inbox::Done>(result)) acknowledge(message);
namespace semel::pg {

using semel::InboxResult;
namespace inbox = semel::inbox;

// Runs a message handler so that it acts once per message id, inside a PostgreSQL transaction: the
// handler's work in that transaction and the record of the id commit together, or neither does. For
// consumers other than `semel consume`.
//
// Acknowledge a message only after Done, and only after the transaction has committed. A message
// that was not acknowledged is delivered again; it is then Done without a call, or is done now.
class Inbox {
 public:
  // Message ids are unique within the operation and the tenant. The operation's ttl must be longer
  // than the broker may take to redeliver.
  explicit Inbox(Operation operation, std::string tenant = {})
      : operation_(std::move(operation)), tenant_(std::move(tenant)) {}

  // Runs in the caller's transaction, on the caller's connection. `body` tells two messages with
  // one id apart. A message has no status: an answer without one is kept as 200, so a handler may
  // return {}. Throws Error, and lets through whatever the handler throws: then roll back, and have
  // the message delivered again. From the claim on, COMMIT without the record's outcome fails.
  InboxResult once(PGconn* connection, std::string id, std::string_view body,
                   const Work& handler) const;

  // Like once(), but opens and commits a transaction of its own, and runs it again a few times
  // after a transient failure (Error::is_passing()). Done means that it has committed.
  InboxResult once_by_itself(PGconn* connection, std::string id, std::string_view body,
                             const Work& handler) const;

 private:
  Call call_for(std::string id, std::string_view body) const;

  const Operation operation_;
  const std::string tenant_;
};

}  // namespace semel::pg
