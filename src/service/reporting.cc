#include "service/reporting.h"

#include <algorithm>

#include "base/overloaded.h"
#include "execution/operation_name.h"
#include "service/replies.h"

namespace semel::service {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

// Returns the record, or the answer to give instead. A record of another tenant or operation is
// answered like one that does not exist.
awaitable<std::expected<RecordPtr, Answer>> find_record(Asked& asked, RecordId id) {
  auto found = co_await asked.services().store.read(id);
  if (!found) {
    co_return std::unexpected(store_unavailable("The record cannot be read. Ask again."));
  }
  const RecordPtr record = *std::move(found);
  if (!record) co_return std::unexpected(no_such_record());
  const std::string_view operation =
      present_name(asked.settings->config, execution::name_in(record->operation));
  if (!asked.client.may_use(record->tenant, operation)) {
    co_return std::unexpected(no_such_record());
  }
  co_return record;
}

Answer lost(const Record* record) {
  std::string detail =
      "This token does not hold the claim, or the claim has ended in another way; nothing was "
      "changed.";
  if (record) detail += " The record is " + std::string(to_string(record->state)) + ".";
  return problem({.code = core::Code::claim_lost,
                  .detail = std::move(detail),
                  .record = record ? record->id.hex() : ""});
}

Answer too_large(std::size_t bytes_max) {
  return problem({.code = core::Code::body_too_large,
                  .detail = "An answer may have at most " + std::to_string(bytes_max) +
                            " bytes here. Keep the body elsewhere, and complete with a short "
                            "answer that refers to it."});
}

Outcome outcome_of(const Client& client, Verb verb, ReportBody body) {
  Outcome outcome;
  outcome.reason_code = ReasonCode::other;
  const std::string why = body.reason.empty() ? "" : ": " + body.reason;
  if (verb == Verb::complete) {
    outcome.kind = OutcomeKind::final;
    outcome.answer = std::move(body.answer);
    outcome.reason = "completed by client " + client.name;
  } else if (verb == Verb::release) {
    outcome.kind = OutcomeKind::retry;
    outcome.reason = "released by client " + client.name + why;
  } else {
    outcome.kind = OutcomeKind::unknown;
    outcome.reason = "given up by client " + client.name + why;
  }
  return outcome;
}

// A claim counts as the client's under the name that it was made under.
bool is_held_by(const Record& record, const Client& client, const Token& token) {
  return record.token == token &&
         record.owner.node == client_owner(client.name, record.owner.run).node;
}

// Never shorter than what is left, unless the client says so: it may have claimed for longer.
Duration lease_of(const Asked& asked, const Record& record, const ReportBody& body) {
  if (body.lease) return *body.lease;
  const config::Config& config = asked.settings->config;
  const auto operation = find_operation(config, present_name(config, record.operation));
  const Duration usual = operation ? operation->rules.operation.lease : Operation{}.lease;
  return std::max(usual, record.lease_until - asked.services().clock.now());
}

}  // namespace

awaitable<Answer> report(Asked& asked, RecordId id, Verb verb, ReportBody body) {
  const std::size_t body_max = asked.config().max_body;
  if (body.answer.body.size() > body_max) co_return too_large(body_max);
  auto found = co_await find_record(asked, id);
  if (!found) co_return std::move(found.error());
  RecordPtr held = *std::move(found);
  if (!is_held_by(*held, asked.client, body.token)) co_return lost(held.get());
  asked.request.take_time();
  Engine& engine = asked.services().engine;
  Reported done;
  if (verb == Verb::renew) {
    const Duration lease = lease_of(asked, *held, body);
    done = co_await engine.renew(std::move(held), lease);
  } else {
    Outcome outcome = outcome_of(asked.client, verb, std::move(body));
    done = co_await engine.report(std::move(held), std::move(outcome));
  }
  co_return std::visit(
      base::Overloaded{
          [&](const client_claim::Recorded& recorded) {
            return verb == Verb::renew ? renewed(*recorded.record, asked.services().clock.now())
                                       : reported(*recorded.record);
          },
          [](const client_claim::Stale& stale) { return lost(stale.record.get()); },
          [&](const client_claim::TooLarge&) { return too_large(body_max); },
          [](const StoreUnavailable&) {
            return store_unavailable("It is not known whether this was recorded. Send it again.");
          },
      },
      done);
}

awaitable<Answer> show_record(Asked& asked, RecordId id) {
  auto found = co_await find_record(asked, id);
  if (!found) co_return std::move(found.error());
  const Record& record = **found;
  if (record.state == RecordState::tombstone || record.expires_at <= asked.services().clock.now()) {
    co_return problem({.code = core::Code::key_expired,
                       .detail = "The operation was done too long ago for its answer to be given "
                                 "again."});
  }
  co_return shown(record);
}

}  // namespace semel::service
