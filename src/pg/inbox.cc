#include <utility>

#include "semel/driver/scope.h"
#include "semel/pg_inbox.h"

namespace semel::pg {
namespace {

constexpr int kDoneStatus = 200;

struct ToInbox {
  const Operation& operation;
  const Call& call;

  InboxResult operator()(Executed& done) const { return inbox::Done{std::move(done.answer)}; }
  InboxResult operator()(Replayed& done) const { return inbox::Done{std::move(done.answer), true}; }
  // The record's answer was made for another version, but the message is done all the same.
  InboxResult operator()(VersionChanged&) const { return inbox::Done{{}, true}; }
  InboxResult operator()(Busy&) const { return inbox::Again{"somebody else is working on it", 0}; }
  InboxResult operator()(Mismatch&) const {
    return inbox::Refused{"another message has used this id"};
  }
  InboxResult operator()(Expired&) const {
    return inbox::Refused{"the id was used before, and its record has expired"};
  }
  InboxResult operator()(Unknown&) const {
    return inbox::Unknown{make_id({operation.name_space, call.tenant, operation.name}, call.key),
                          "an earlier attempt ended without an outcome"};
  }
};

Work with_status(const Work& handler) {
  return [&handler](const Claim& claim) {
    Answer answer = handler(claim);
    if (answer.status == 0) answer.status = kDoneStatus;
    return answer;
  };
}

InboxResult to_inbox(Result result, const Operation& operation, const Call& call) {
  return std::visit(ToInbox{operation, call}, result);
}

}  // namespace

Call Inbox::call_for(std::string id, std::string_view body) const {
  return {.key = std::move(id), .fingerprint = digest_of(body), .tenant = tenant_};
}

InboxResult Inbox::once(PGconn* connection, std::string id, std::string_view body,
                        const Work& handler) const {
  const Call call = call_for(std::move(id), body);
  return to_inbox(pg::once(connection, operation_, call, with_status(handler)), operation_, call);
}

InboxResult Inbox::once_by_itself(PGconn* connection, std::string id, std::string_view body,
                                  const Work& handler) const {
  const Call call = call_for(std::move(id), body);
  return to_inbox(pg::once_by_itself(connection, operation_, call, with_status(handler)),
                  operation_, call);
}

}  // namespace semel::pg
