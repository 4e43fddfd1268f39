#include <boost/json/array.hpp>

#include "admin/admin_answer.h"
#include "admin/parameters.h"
#include "admin/setup/setup_api.h"
#include "base/utf8.h"
#include "postgres/outbox_summary.h"

namespace semel::admin {
namespace json = boost::json;
using boost::asio::awaitable;

namespace {

constexpr std::size_t kOutboxRowsMax = 1000;

json::object no_outbox(std::string_view why) {
  return {{"available", false},
          {"why", base::printable_utf8(why)},
          {"lanes", json::array()},
          {"dead", json::array()}};
}

json::object lane_json(const postgres::OutboxLane& lane) {
  return {{"destination", base::printable_utf8(lane.destination)},
          {"ordering_key", text_or_null(lane.ordering_key.value_or(""))},
          {"waiting", lane.waiting},
          {"blocked", lane.is_blocked},
          {"attempts", lane.attempts},
          {"next_try_at", time_json(lane.due_at.value_or(kNever))},
          {"last_error", text_or_null(lane.last_error)}};
}

json::object dead_letter_json(const postgres::OutboxDeadLetter& dead) {
  return {{"id", dead.id},
          {"destination", base::printable_utf8(dead.destination)},
          {"ordering_key", text_or_null(dead.ordering_key.value_or(""))},
          {"attempts", dead.attempts},
          {"last_error", text_or_null(dead.last_error)},
          {"enqueued_at", time_json(dead.enqueued_at)},
          {"died_at", time_json(dead.died_at)}};
}

}  // namespace

awaitable<Answer> SetupApi::outbox(std::string query) {
  std::size_t limit = 100;
  const auto wrong = for_parameters(query, [&](std::string_view name, std::string_view value) {
    return name == "limit" ? read_count(name, value, kOutboxRowsMax, limit)
                           : unknown_parameter(name, "limit");
  });
  if (wrong) co_return problem_answer(400, "bad-query", *wrong);
  const stores::StoreConfig& store = process_.config().store;
  if (store.kind != stores::StoreKind::postgres && store.kind != stores::StoreKind::tiered) {
    co_return json_answer(200, no_outbox("The outbox is in PostgreSQL, which this store is not."));
  }
  auto read = [url = store.url, schema = store.schema, limit] {
    return postgres::read_outbox(url, schema, limit);
  };
  const auto found = co_await database_.run(std::move(read));
  if (!found) co_return json_answer(200, no_outbox(found.error()));
  json::array lanes;
  for (const postgres::OutboxLane& lane : found->lanes) lanes.push_back(lane_json(lane));
  json::array dead;
  for (const auto& letter : found->dead) dead.push_back(dead_letter_json(letter));
  co_return json_answer(200, {{"available", true},
                              {"why", nullptr},
                              {"lanes", std::move(lanes)},
                              {"dead", std::move(dead)}});
}

}  // namespace semel::admin
