#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <string>

#include "semel/engine.h"
#include "semel/fingerprint.h"
#include "semel/inbox_result.h"

namespace semel {

// Makes any handler of messages act once a message id, over any store: for consumers that are not
// `semel consume`. Acknowledge a message only after Done. Where the effect is in PostgreSQL, and
// the record too, semel::pg::Inbox (pg_inbox.h) does the same inside the transaction.
//
// The engine must outlive it and every call. Calls may be made from any executor.
class Inbox {
 public:
  // Executes the message under the claim and says how it ended. To throw is "unknown": it may have
  // taken effect. Called at most once for each call of once().
  using Handler = std::function<boost::asio::awaitable<Outcome>(const Claim& claim)>;

  // Ids count inside `scope`. Two messages of one id are the same if their bodies are, by `body`.
  Inbox(Engine& engine, Scope scope, Policy policy, BodyRecipe body = BodyRecipe::raw);

  boost::asio::awaitable<InboxResult> once(std::string id, std::string body, Handler handler);

 private:
  Engine& engine_;
  const Scope scope_;
  const Policy policy_;
  const Recipe recipe_;
};

}  // namespace semel
