#pragma once

#include <string>
#include <string_view>

#include "semel/inbox_result.h"
#include "semel/pg.h"

namespace semel::pg {

using semel::InboxResult;
namespace inbox = semel::inbox;

// Makes any handler of messages act once a message id, inside a PostgreSQL transaction: what the
// handler does there and the record of the id commit together, or neither does. For consumers that
// are not `semel consume`. semel::Inbox (inbox.h) is the same over any store, where the effect is
// elsewhere.
//
// Acknowledge a message only after Done, and only once the transaction has committed. A message
// that was not acknowledged comes again; it is then Done without a call, or it is done now.
class Inbox {
 public:
  // `rules` are those of all messages: tenant and operation, inside which ids count, ttl (longer
  // than the broker may take to redeliver), schema. Its key and fingerprint are not looked at.
  explicit Inbox(Claim rules) : rules_(std::move(rules)) {}

  // In the caller's transaction, on the caller's connection. `body` tells two messages of one id
  // apart. A message has no status: an answer that says none is kept as 200, so that a handler may
  // return {}. What the handler throws passes, and so does Error: roll back then, and have the
  // message delivered again. From the claim on, a COMMIT without the record's outcome fails.
  InboxResult once(PGconn* connection, std::string id, std::string_view body,
                   const Work& handler) const;

  // The same in a transaction of its own, which is run again a few times where it failed in
  // passing. Done: it has committed.
  InboxResult once_by_itself(PGconn* connection, std::string id, std::string_view body,
                             const Work& handler) const;

 private:
  Claim claim_of(std::string id, std::string_view body) const;

  const Claim rules_;
};

}  // namespace semel::pg
