#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <string>

#include "semel/claim.h"
#include "semel/driver/engine.h"
#include "semel/driver/fingerprint.h"
#include "semel/inbox_result.h"

// An inbox over any store, on an event loop:
//
//   Inbox inbox(engine, {"default", "", "payments"}, operation);
//   const InboxResult result = co_await inbox.once(message.id, message.body, handle);
//   if (std::holds_alternative<inbox::Done>(result)) broker.ack(message);
namespace semel {

// Runs a message handler so that it acts once per message id, over any store. For consumers other
// than `semel consume`. Acknowledge a message only after Done. If both the effect and the record
// are in PostgreSQL, semel::pg::Inbox (pg_inbox.h) does this inside the transaction.
//
// The engine must outlive the inbox and every call. Calls may be made from any executor.
class Inbox {
 public:
  // Executes the message under the claim and returns the outcome. Throwing means "unknown": the
  // message may have taken effect. Called at most once per call of once().
  using Handler = std::function<boost::asio::awaitable<Outcome>(const Claim& claim)>;

  // Message ids are unique within `scope`. Two messages with one id are the same message if their
  // bodies are equal when read by `body`.
  Inbox(Engine& engine, Scope scope, Operation operation, BodyRecipe body = BodyRecipe::raw);

  boost::asio::awaitable<InboxResult> once(std::string id, std::string body, Handler handler);

 private:
  Engine& engine_;
  const Scope scope_;
  const Operation operation_;
  const Recipe recipe_;
};

}  // namespace semel
