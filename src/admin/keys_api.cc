#include "admin/keys_api.h"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include "admin/admin_answer.h"
#include "admin/kept_work.h"
#include "admin/parameters.h"
#include "admin/record_json.h"
#include "execution/answer/answer_json.h"
#include "execution/operation_name.h"
#include "execution/prober.h"
#include "execution/queued_request.h"
#include "semel/driver/scope.h"
#include "telemetry/log.h"

namespace semel::admin {
namespace json = boost::json;
using boost::asio::awaitable;

namespace {

constexpr std::size_t kShownBytesMax = 8 * 1024 * 1024;  // of an answer's body
constexpr std::string_view kBadCursor = "cursor: must be one that this API returned";

// The parameters that every list has. nullopt: it is another one, or was read.
std::optional<std::string> read_page(std::string_view name, std::string_view value, Search& out) {
  if (name == "limit") return read_count(name, value, KeySearch::kListedMax, out.limit);
  out.from = parse_cursor(value);
  return out.from ? std::nullopt : std::optional(std::string(kBadCursor));
}

bool is_page(std::string_view name) {
  return name == "limit" || name == "cursor";
}

std::string_view outcome_word(bool settled, const Record* record) {
  if (!settled) return "unknown";
  return record && record->state == RecordState::completed ? "final" : "retry";
}

}  // namespace

awaitable<Answer> KeysApi::list(std::string query) {
  Search wanted;
  const auto wrong = for_parameters(
      query, [&](std::string_view name, std::string_view value) -> std::optional<std::string> {
        if (is_page(name)) return read_page(name, value, wanted);
        if (name != "q") return wanted.filter.set(name, value);
        if (value.empty()) return "q: must not be empty";
        wanted.text = value;
        return std::nullopt;
      });
  if (wrong) co_return problem_answer(400, "bad-query", *wrong);
  auto found = co_await search_.search(std::move(wanted));
  if (!found) co_return store_unavailable(found.error());
  const Time now = services_.clock.now();
  json::array keys;
  for (const RecordPtr& record : found->records) keys.push_back(record_summary(*record, now));
  co_return json_answer(
      200,
      {{"keys", std::move(keys)}, {"examined", found->examined}, {"next", next_json(found->next)}});
}

awaitable<Answer> KeysApi::list_work(std::string query) {
  Search wanted;
  const auto wrong = for_parameters(
      query, [&](std::string_view name, std::string_view value) -> std::optional<std::string> {
        return is_page(name) ? read_page(name, value, wanted)
                             : set_work_filter(name, value, wanted);
      });
  if (wrong) co_return problem_answer(400, "bad-query", *wrong);
  wanted.trim_request = trim_work;
  if (!wanted.only) {
    wanted.only = [](const Record& record) { return work_state_of(record).has_value(); };
  }
  auto found = co_await search_.search(std::move(wanted));
  if (!found) co_return store_unavailable(found.error());
  json::array items;
  for (const RecordPtr& record : found->records) items.push_back(work_json(*record));
  co_return json_answer(200, {{"items", std::move(items)},
                              {"examined", found->examined},
                              {"next", next_json(found->next)}});
}

awaitable<Answer> KeysApi::show(std::string id) {
  auto record = co_await search_.find(std::move(id));
  if (!record) co_return std::move(record.error());
  co_return json_answer(200, record_details(**record, services_.clock.now()));
}

awaitable<Answer> KeysApi::show_answer(std::string id, std::string who) {
  auto record = co_await search_.find(std::move(id));
  if (!record) co_return std::move(record.error());
  Answer answer = (*record)->answer;
  if (answer.status == 0) co_return problem_answer(404, "no-answer", "The record has no answer.");
  const BodyNote note = answer.body_note;
  if (note == BodyNote::spilled && answer.spilled_bytes <= kShownBytesMax) {
    auto body = co_await read_spilled(*record);
    if (!body) co_return store_unavailable(body.error());
    answer.body = *std::move(body);
    answer.body_note = BodyNote::kept;
  }
  telemetry::log_event(config::LogLevel::warn, "answer shown",
                       {{"record", (*record)->id.hex()}, {"who", who}});
  json::object out = execution::answer_json(answer);
  out.erase("body_omitted");
  out["body_note"] = body_note_name(note);
  co_return json_answer(200, out);
}

awaitable<StoreResult<std::string>> KeysApi::read_spilled(RecordPtr record) {
  std::string body;
  for (std::uint32_t index = 0; body.size() < record->answer.spilled_bytes; ++index) {
    auto chunk = co_await services_.store.get_chunk(record->id, record->token, index);
    if (!chunk) co_return std::unexpected(chunk.error());
    if (!*chunk || (*chunk)->empty()) {
      co_return std::unexpected(StoreUnavailable{"a part of the answer's body is gone"});
    }
    body += **chunk;
  }
  co_return body;
}

std::optional<std::string> KeysApi::plain_key_of(const Record& record) const {
  const Scope scope{process_.config().name_space, record.tenant, record.operation};
  if (make_id(scope, record.key) == record.id) return record.key;
  const auto request = execution::decode_queued_request(record.request);
  if (request && make_id(scope, request->key) == record.id) return request->key;
  return std::nullopt;
}

awaitable<Answer> KeysApi::probe(std::string id, std::string who, std::string body) {
  boost::system::error_code error;
  const json::value sent = json::parse(body, error);
  if (error || !sent.is_object() || !sent.get_object().empty()) {
    co_return problem_answer(400, "bad-decision", "Send an empty JSON object: {}.");
  }
  auto found = co_await search_.find(std::move(id));
  if (!found) co_return std::move(found.error());
  const RecordPtr record = *std::move(found);
  runtime::Worker& worker = *process_.workers().front();
  const runtime::ActiveConfigPtr settings = worker.settings();
  const auto route = execution::find_probed_route(settings->routes, *record);
  if (!route || is_held_by_client(record->owner)) {
    co_return problem_answer(409, "no-probe",
                             "No route of this record asks its executor (unknown: probe).");
  }
  if (record->state != RecordState::unknown) {
    co_return problem_answer(409, "not-unknown",
                             "The record is " + std::string(to_string(record->state)) +
                                 "; only an unknown outcome is asked about.");
  }
  auto key = plain_key_of(*record);
  if (!key) {
    co_return problem_answer(409, "key-not-kept",
                             "Only a digest of the key is kept, and the executor is asked by the "
                             "key: a request with the key asks.");
  }
  const auto settled =
      co_await services_.prober->ask_at_once(worker, {settings, *route}, record, *std::move(key));
  if (!settled) {
    co_return problem_answer(409, "being-asked",
                             "The executor is being asked already, or too many are. Try again.");
  }
  telemetry::log_event(config::LogLevel::info, "operator",
                       {{"did", "probe"}, {"record", record->id.hex()}, {"who", who}});
  auto now = co_await services_.store.read(record->id);
  if (!now) co_return store_unavailable(now.error());
  const bool has_record = *now != nullptr;
  co_return json_answer(
      200, {{"asked", true},
            {"outcome", outcome_word(*settled, now->get())},
            {"record", has_record ? json::value(record_summary(**now, services_.clock.now()))
                                  : json::value(nullptr)}});
}

}  // namespace semel::admin
