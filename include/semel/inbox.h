#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "semel/engine.h"
#include "semel/fingerprint.h"

namespace semel {

// What became of a message, and so what the broker is to be told.
namespace inbox {
// It is done, and durably so: acknowledge it.
struct Done {
  Answer answer;        // the handler's, of now or of then
  bool before = false;  // it had been done before: the handler was not called
};
// It is not done: have it delivered again, later.
struct Again {
  std::string why;
  std::uint32_t attempt = 0;  // how often it was tried; 0: somebody else is at it, or no store
};
// The handler was called, and nobody knows whether it took effect. It is not called again under
// `unknown: hold`: put the message aside.
struct Unknown {
  Record record;
};
// Another message has used the id, or its record has expired: put it aside.
struct Refused {
  std::string why;
};
}  // namespace inbox
using InboxResult = std::variant<inbox::Done, inbox::Again, inbox::Unknown, inbox::Refused>;

// Makes any handler of messages act once a message id, over any store: for consumers that are not
// `semel consume`. Acknowledge a message only after Done. Where the effect is in PostgreSQL, and
// the record too, semel::pg::once with the id as the key does the same inside the transaction.
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
