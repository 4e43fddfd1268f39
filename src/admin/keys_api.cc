#include "admin/keys_api.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <charconv>

#include "admin/admin_answer.h"
#include "admin/record_json.h"
#include "telemetry/log.h"

namespace semel::admin {
namespace asio = boost::asio;
namespace json = boost::json;
using asio::awaitable;

namespace {

constexpr std::size_t kListedMax = 1000;      // per request
constexpr std::size_t kExaminedMax = 10'000;  // per request
constexpr std::size_t kPageRecords = 200;     // per call to the store
constexpr std::size_t kIdDigitsMin = 8;       // of an abbreviated id
constexpr std::size_t kIdDigits = 2 * sizeof(RecordId::bytes);

Answer store_unavailable(const StoreUnavailable& unavailable) {
  return problem_answer(503, "store-unavailable", unavailable.why);
}

// Returns the id before the first one that begins with these digits: where a scan for them begins.
std::optional<RecordId> just_before(std::string_view digits) {
  std::string padded(digits);
  padded.resize(kIdDigits, '0');
  std::optional<RecordId> id = parse_hex_id(padded);
  if (!id) return std::nullopt;
  for (std::size_t i = id->bytes.size(); i-- > 0;) {
    if (id->bytes[i]-- > 0) return id;
  }
  return std::nullopt;  // all zero: scan from the beginning
}

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<std::string> read_limit(std::string_view value, std::size_t& out) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
  if (error != std::errc() || end != value.data() + value.size() || out < 1 || out > kListedMax) {
    return "limit: must be a number from 1 to 1000";
  }
  return std::nullopt;
}

json::value cursor_of(const std::optional<RecordId>& next) {
  return next ? json::value(next->hex()) : json::value(nullptr);
}

}  // namespace

awaitable<Answer> KeysApi::list(std::string query) {
  Search wanted;
  const auto wrong = for_parameters(
      query, [&](std::string_view name, std::string_view value) -> std::optional<std::string> {
        if (name == "limit") return read_limit(value, wanted.limit);
        if (name != "cursor") return wanted.filter.set(name, value);
        wanted.after = parse_hex_id(value);
        if (!wanted.after) return "cursor: must be one that this API returned";
        return std::nullopt;
      });
  if (wrong) co_return problem_answer(400, "bad-query", *wrong);
  auto found = co_await search(std::move(wanted));
  if (!found) co_return store_unavailable(found.error());
  const Time now = services_.clock.now();
  json::array keys;
  for (const RecordPtr& record : found->records) keys.push_back(record_summary(*record, now));
  co_return json_answer(
      200,
      {{"keys", std::move(keys)}, {"examined", found->examined}, {"next", cursor_of(found->next)}});
}

awaitable<Answer> KeysApi::show(std::string id) {
  auto record = co_await find(std::move(id));
  if (!record) co_return std::move(record.error());
  co_return json_answer(200, record_details(**record, services_.clock.now()));
}

awaitable<Answer> KeysApi::decide(Decided decided, std::string id, std::string who,
                                  std::string body) {
  auto decision = parse_decision(body, decided, false);
  if (!decision) co_return problem_answer(400, "bad-decision", std::move(decision.error()));
  auto record = co_await find(std::move(id));
  if (!record) co_return std::move(record.error());
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
  co_return problem_answer(404, "no-such-key", "The record is gone.");
}

awaitable<Answer> KeysApi::decide_many(Decided decided, std::string who, std::string body) {
  auto decision = parse_decision(body, decided, true);
  if (!decision) co_return problem_answer(400, "bad-decision", std::move(decision.error()));
  decision->resolution.who = std::move(who);
  auto found = co_await search({decision->where, decision->limit, decision->after});
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
    }
  }
  co_return json_answer(200, {{verb_of(decided), changed.size()},
                              {"dry_run", decision->dry_run},
                              {"ids", std::move(changed)},
                              {"refused", std::move(refused)},
                              {"examined", found->examined},
                              {"next", cursor_of(found->next)}});
}

awaitable<StoreResult<KeysApi::Found>> KeysApi::search(Search search) {
  Found found;
  search.filter.expect_digests(process_.settings().key_material.hash_keys);
  const KeyFilter& filter = search.filter;
  if (!search.after && filter.tenant && filter.operation && filter.key) {
    auto record = co_await by_key(filter);
    if (!record) co_return std::unexpected(record.error());
    if (*record) {
      found.examined = 1;
      found.records.push_back(*std::move(record));
      co_return found;
    }
  }
  auto executor = co_await asio::this_coro::executor;
  std::optional<RecordId> after = search.after;
  while (found.examined < kExaminedMax) {
    auto page = co_await services_.store.scan(after, kPageRecords);
    if (!page) co_return std::unexpected(page.error());
    const Time now = services_.clock.now();
    for (const RecordPtr& record : page->records) {
      ++found.examined;
      after = record->id;
      if (!filter.matches(*record, now)) continue;
      auto shown = std::make_shared<Record>(*record);
      shown->answer.body.clear();
      shown->request.clear();
      found.records.push_back(std::move(shown));
      if (found.records.size() < search.limit) continue;
      found.next = after;
      co_return found;
    }
    if (!page->next) co_return found;
    after = page->next;
    co_await asio::post(executor, asio::use_awaitable);  // give others a turn
  }
  found.next = after;
  co_return found;
}

// Reads the record directly, since its id is made of these. Null: it is not there under exactly
// this operation, which includes the path if the path is the scope.
awaitable<StoreResult<RecordPtr>> KeysApi::by_key(KeyFilter filter) {
  const Scope scope{process_.config().name_space, *filter.tenant, *filter.operation};
  auto record = co_await services_.store.read(make_id(scope, *filter.key));
  if (record && *record && !filter.matches(**record, services_.clock.now())) record->reset();
  co_return record;
}

awaitable<std::expected<RecordPtr, Answer>> KeysApi::find(std::string id) {
  if (id.size() < kIdDigitsMin || id.size() > kIdDigits || !is_hex(id)) {
    co_return std::unexpected(problem_answer(
        400, "bad-id",
        "Send a record's id: 64 lower-case hexadecimal digits, or its first 8 or more."));
  }
  auto page = co_await services_.store.scan(just_before(id), 2);
  if (!page) co_return std::unexpected(store_unavailable(page.error()));
  std::erase_if(page->records,
                [&](const RecordPtr& record) { return !record->id.hex().starts_with(id); });
  if (page->records.empty()) {
    co_return std::unexpected(problem_answer(404, "no-such-key", "There is no such record."));
  }
  if (page->records.size() > 1) {
    co_return std::unexpected(problem_answer(
        409, "ambiguous-id", "Several records begin with these digits. Send more of the id."));
  }
  co_return std::move(page->records.front());
}

awaitable<Resolved> KeysApi::resolve(Decided decided, RecordId id, Resolution resolution) {
  const std::string who = resolution.who;
  const std::string why = resolution.why;
  const bool forced = resolution.force;
  // No cache of any process gives the answer for longer than this.
  if (decided == Decided::forgotten) resolution.forget_for = process_.config().store.cache_for;
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
