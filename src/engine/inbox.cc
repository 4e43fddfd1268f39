#include "semel/driver/inbox.h"

#include <boost/asio/this_coro.hpp>
#include <memory>

#include "base/overloaded.h"

namespace semel {
namespace asio = boost::asio;
using asio::awaitable;

namespace {

Fingerprint fingerprint_of(const Recipe& recipe, const std::string& body) {
  RequestView view;
  view.body = body;
  view.header = [](std::string_view) { return std::nullopt; };
  return make_fingerprint(recipe, view);
}

InboxResult to_result(const Record& record) {
  switch (record.state) {
    case RecordState::completed:
      return inbox::Done{record.answer, true};
    case RecordState::unknown:
      return inbox::Unknown{record.id, record.reason};
    default:
      return inbox::Again{record.reason, record.attempt};
  }
}

InboxResult without_executing(const Admission& admission) {
  const auto again = [](std::string why) -> InboxResult { return inbox::Again{std::move(why), 0}; };
  return std::visit(
      base::Overloaded{
          [](const admission::Replay& replay) { return to_result(*replay.record); },
          [](const admission::VersionChanged& changed) { return to_result(*changed.record); },
          [](const admission::OutcomeUnknown& unknown) -> InboxResult {
            return inbox::Unknown{unknown.record->id, unknown.record->reason};
          },
          [](const admission::Mismatch&) -> InboxResult {
            return inbox::Refused{"another message has used this id"};
          },
          [](const admission::Expired&) -> InboxResult {
            return inbox::Refused{"the id was used before, and its record has expired"};
          },
          [&](const StoreUnavailable& unavailable) { return again(unavailable.why); },
          [&](const admission::Busy&) { return again("it is in progress"); },
          [&](const admission::Execute&) { return again("it is in progress"); },
          [&](const admission::Queued&) { return again("it is in progress"); },
          [&](const admission::NoRoom&) { return again("it is in progress"); },
          [&](const admission::TokenUsed&) { return again("it is in progress"); },
      },
      admission);
}

}  // namespace

Inbox::Inbox(Engine& engine, Scope scope, Operation operation, BodyRecipe body)
    : engine_(engine),
      scope_(std::move(scope)),
      operation_(std::move(operation)),
      recipe_{.body = body,
              .query = false,
              .include = {},
              .exclude = {},
              .headers = {},
              .hash_key_id = {}} {}

awaitable<InboxResult> Inbox::once(std::string id, std::string body, Handler handler) {
  const auto text = std::make_shared<const std::string>(std::move(body));
  Call call;
  call.scope = scope_;
  call.key = std::move(id);
  call.operation = operation_;
  call.recipe = recipe_;
  call.fingerprint = fingerprint_of(recipe_, *text);
  call.fingerprint_under = [text](Recipe recipe) -> awaitable<Fingerprint> {
    co_return fingerprint_of(recipe, *text);
  };
  Admission admission = co_await engine_.admit(std::move(call));

  auto* execute = std::get_if<admission::Execute>(&admission);
  if (!execute) co_return without_executing(admission);

  const EngineClaim claim = std::move(execute->claim);
  const Claim plain = claim.plain();
  Outcome outcome{OutcomeKind::unknown, {}, "the handler threw"};
  try {
    outcome = co_await handler(plain);
  } catch (const std::exception& error) {
    outcome.reason += std::string(": ") + error.what();
  } catch (...) {
    outcome.reason += " something that is not a std::exception";
  }
  // A caller that gave up waiting has cancelled the handler. The outcome is recorded all the same,
  // or the claim would be held for as long as the process lives.
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  const Finished finished = co_await engine_.finish(claim, outcome);
  co_await asio::this_coro::reset_cancellation_state();
  if (const auto* stale = std::get_if<finish::Stale>(&finished)) {
    if (stale->record) co_return to_result(*stale->record);
    co_return inbox::Again{"somebody else has the claim", claim.record->attempt};
  }
  if (const auto* pending = std::get_if<finish::Pending>(&finished)) {
    co_return inbox::Again{pending->why, claim.record->attempt};
  }
  switch (outcome.kind) {
    case OutcomeKind::final:
      co_return inbox::Done{outcome.answer, false};
    case OutcomeKind::retry:
      co_return inbox::Again{outcome.reason, claim.record->attempt};
    case OutcomeKind::unknown:
      break;
  }
  const auto& recorded = std::get<finish::Recorded>(finished).record;
  co_return inbox::Unknown{claim.record->id, recorded ? recorded->reason : outcome.reason};
}

}  // namespace semel
