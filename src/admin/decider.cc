#include "admin/decider.h"

#include <boost/json/array.hpp>

#include "admin/admin_answer.h"
#include "admin/record_json.h"
#include "telemetry/log.h"

namespace semel::admin {
namespace json = boost::json;
using boost::asio::awaitable;

namespace {

constexpr std::string_view kGone = "The record is gone.";

}  // namespace

awaitable<Answer> Decider::decide(Decided decided, std::string id, std::string who,
                                  std::string body) {
  auto decision = parse_decision(body, decided, false);
  if (!decision) co_return problem_answer(400, "bad-decision", std::move(decision.error()));
  auto record = co_await search_.find(std::move(id));
  if (!record) co_return std::move(record.error());
  if (const auto seen = decision->attempt; seen && *seen != (*record)->attempt) {
    co_return problem_answer(409, "other-attempt",
                             "The record is at attempt " + std::to_string((*record)->attempt) +
                                 " now, and the decision is about attempt " +
                                 std::to_string(*seen) + ". Look at it again.");
  }
  decision->resolution.who = std::move(who);
  Resolved resolved = co_await resolve(decided, (*record)->id, std::move(decision->resolution));
  if (const auto* done = std::get_if<resolve::Done>(&resolved)) {
    co_return json_answer(200, record_details(*done->record, services_.clock.now()));
  }
  if (auto* refused = std::get_if<resolve::Refused>(&resolved)) {
    co_return problem_answer(409, "refused", std::move(refused->why));
  }
  if (const auto* unavailable = std::get_if<StoreUnavailable>(&resolved)) {
    co_return store_unavailable(*unavailable);
  }
  co_return problem_answer(404, "no-such-key", std::string(kGone));
}

awaitable<Answer> Decider::decide_many(Decided decided, std::string who, std::string body) {
  auto decision = parse_decision(body, decided, true);
  if (!decision) co_return problem_answer(400, "bad-decision", std::move(decision.error()));
  decision->resolution.who = std::move(who);
  auto found = co_await search_.search(decision->which);
  if (!found) co_return store_unavailable(found.error());
  json::array changed;
  json::array refused;
  for (const RecordPtr& record : found->records) {
    const std::string id = record->id.hex();
    if (decision->dry_run) {
      changed.push_back(json::value(id));
      continue;
    }
    Resolved resolved = co_await resolve(decided, record->id, decision->resolution);
    if (std::holds_alternative<resolve::Done>(resolved)) {
      changed.push_back(json::value(id));
    } else if (const auto* why = std::get_if<resolve::Refused>(&resolved)) {
      refused.push_back({{"id", id}, {"why", why->why}});
    } else if (const auto* unavailable = std::get_if<StoreUnavailable>(&resolved)) {
      refused.push_back({{"id", id}, {"why", unavailable->why}});
    } else {
      refused.push_back({{"id", id}, {"why", kGone}});
    }
  }
  co_return json_answer(200, {{verb_of(decided), changed.size()},
                              {"dry_run", decision->dry_run},
                              {"ids", std::move(changed)},
                              {"refused", std::move(refused)},
                              {"examined", found->examined},
                              {"next", next_json(found->next)}});
}

awaitable<Resolved> Decider::resolve(Decided decided, RecordId id, Resolution resolution) {
  const std::string who = resolution.who;
  const std::string why = resolution.why;
  const bool forced = resolution.force;
  // No cache of any process gives the answer for longer than this.
  if (decided == Decided::forgotten) resolution.forget_for = process_.config().store.cache_for;
  if (decided == Decided::retried) resolution.work = WorkDecision::retry;
  if (decided == Decided::dropped) resolution.work = WorkDecision::drop;
  Resolved resolved = co_await services_.engine.resolve(id, std::move(resolution));
  const auto* refused = std::get_if<resolve::Refused>(&resolved);
  const bool done = std::holds_alternative<resolve::Done>(resolved);
  telemetry::log_event(
      config::LogLevel::warn, "operator",
      {{"did", verb_of(decided)},
       {"record", id.hex()},
       {"who", who},
       {"why", why},
       {"forced", forced ? "true" : ""},
       {"result", done      ? "done"
                  : refused ? "refused"
                            : "failed"},
       {"refused", refused ? std::string_view(refused->why) : std::string_view()}});
  co_return resolved;
}

}  // namespace semel::admin
