#include <utility>

#include "semel/pg_inbox.h"
#include "semel/scope.h"

namespace semel::pg {
namespace {

constexpr int kDoneStatus = 200;

struct ToInbox {
  const Claim& claim;

  InboxResult operator()(Executed& done) const { return inbox::Done{std::move(done.answer)}; }
  InboxResult operator()(Replayed& done) const { return inbox::Done{std::move(done.answer), true}; }
  // The record's answer was made for another version, but the message is done all the same.
  InboxResult operator()(VersionChanged&) const { return inbox::Done{{}, true}; }
  InboxResult operator()(Busy&) const { return inbox::Again{"somebody else is at it", 0}; }
  InboxResult operator()(Mismatch&) const {
    return inbox::Refused{"another message has used this id"};
  }
  InboxResult operator()(Expired&) const {
    return inbox::Refused{"the id was used before, and its record has expired"};
  }
  InboxResult operator()(Unknown&) const {
    inbox::Unknown unknown;
    unknown.record.id = make_id({claim.name_space, claim.tenant, claim.operation}, claim.key);
    unknown.record.state = semel::RecordState::unknown;
    return unknown;
  }
};

Work with_status(const Work& handler) {
  return [&handler](const Context& context) {
    Answer answer = handler(context);
    if (answer.status == 0) answer.status = kDoneStatus;
    return answer;
  };
}

InboxResult to_inbox(Result result, const Claim& claim) {
  return std::visit(ToInbox{claim}, result);
}

}  // namespace

Claim Inbox::claim_of(std::string id, std::string_view body) const {
  Claim claim = rules_;
  claim.key = std::move(id);
  claim.fingerprint = digest_of(body);
  return claim;
}

InboxResult Inbox::once(PGconn* connection, std::string id, std::string_view body,
                        const Work& handler) const {
  const Claim claim = claim_of(std::move(id), body);
  return to_inbox(pg::once(connection, claim, with_status(handler)), claim);
}

InboxResult Inbox::once_by_itself(PGconn* connection, std::string id, std::string_view body,
                                  const Work& handler) const {
  const Claim claim = claim_of(std::move(id), body);
  return to_inbox(pg::once_by_itself(connection, claim, with_status(handler)), claim);
}

}  // namespace semel::pg
