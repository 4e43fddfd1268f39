#include "admin/record_json.h"

#include <boost/json/array.hpp>

#include "admin/admin_answer.h"
#include "admin/timeline.h"
#include "base/names.h"
#include "base/utf8.h"
#include "engine/process_identity.h"
#include "execution/answer/answer_json.h"
#include "execution/operation_name.h"

namespace semel::admin {
namespace json = boost::json;
namespace {

json::array list(const std::vector<std::string>& texts) {
  json::array out;
  for (const std::string& text : texts) out.push_back(json::value(base::printable_utf8(text)));
  return out;
}

constexpr auto kResultNames = base::names<RecordResult::failed>({
    {RecordResult::none, "none"},
    {RecordResult::succeeded, "succeeded"},
    {RecordResult::failed, "failed"},
});

constexpr auto kBodyNames = base::names<BodyNote::spilled>({
    {BodyNote::kept, "kept"},
    {BodyNote::omitted, "omitted"},
    {BodyNote::spilled, "spilled"},
});

json::object answer_of(const Answer& answer) {
  json::array headers;
  for (const Header& header : answer.headers) {
    headers.push_back({base::printable_utf8(header.name), base::printable_utf8(header.value)});
  }
  const bool spilled = answer.body_note == BodyNote::spilled;
  return {{"status", answer.status},
          {"headers", std::move(headers)},
          {"body", kBodyNames[answer.body_note]},
          {"body_bytes", spilled ? answer.spilled_bytes : answer.body.size()}};
}

json::array history_of(const Record& record) {
  json::array out;
  for (const HistoryEntry& entry : record.history) {
    out.push_back({{"at", time_json(entry.at)},
                   {"state", to_string(entry.to)},
                   {"attempt", entry.attempt},
                   {"note", base::printable_utf8(entry.note)}});
  }
  return out;
}

json::object recipe_of(const Recipe& recipe) {
  return {
      {"version", recipe.version},       {"query", recipe.query},
      {"include", list(recipe.include)}, {"exclude", list(recipe.exclude)},
      {"headers", list(recipe.headers)}, {"hash_key_id", base::printable_utf8(recipe.hash_key_id)}};
}

// As far as can be told from here: another process is believed alive while its lease lasts.
json::object owner_of(const Record& record, Time now) {
  const bool is_here = record.owner == engine::this_node();
  json::value alive = nullptr;
  if (record.state == RecordState::in_progress) alive = is_here || now <= record.lease_until;
  return {{"node", base::printable_utf8(record.owner.node)},
          {"run", engine::run_text(record.owner)},
          {"is_this_process", is_here},
          {"alive", std::move(alive)}};
}

json::object request_of(const Record& record) {
  json::object members;
  for (const DescribedMember& member : record.description.members) {
    members[base::printable_utf8(member.pointer)] = base::printable_utf8(member.value);
  }
  return {{"method", text_or_null(record.description.method)},
          {"path", text_or_null(record.description.path)},
          {"described", members.empty() ? json::value(nullptr) : json::value(std::move(members))},
          {"bytes", record.request.size()}};
}

}  // namespace

std::string_view body_note_name(BodyNote note) {
  return kBodyNames[note];
}

json::object record_summary(const Record& record, Time now) {
  json::object out;
  out["id"] = record.id.hex();
  out["state"] = to_string(record.state);
  out["attempt"] = record.attempt;
  out["tenant"] = base::printable_utf8(record.tenant);
  const bool is_any = record.operation == execution::kEveryOperation;
  const std::string_view path = execution::path_in(record.operation);
  out["operation"] = is_any ? "*" : base::printable_utf8(execution::name_in(record.operation));
  out["scope_path"] = text_or_null(path);
  out["method"] = text_or_null(record.description.method);
  out["path"] = text_or_null(record.description.path);
  out["key"] = base::printable_utf8(record.key);
  out["created_at"] = time_json(record.created_at);
  out["updated_at"] = time_json(record.updated_at);
  out["age_seconds"] =
      std::chrono::duration_cast<std::chrono::seconds>(now - record.updated_at).count();
  out["status"] = record.answer.status > 0 ? json::value(record.answer.status) : nullptr;
  out["reason"] = base::printable_utf8(record.reason);
  out["resource"] = {{"type", base::printable_utf8(record.resource_type)},
                     {"id", base::printable_utf8(record.resource_id)}};
  return out;
}

json::object record_details(const Record& record, Time now) {
  json::object out = record_summary(record, now);
  const bool unknown = record.state == RecordState::unknown;
  out["unknown_since"] = unknown ? time_json(record.updated_at) : nullptr;
  out["owner"] = owner_of(record, now);
  out["lease_until"] = time_json(record.lease_until);
  out["expires_at"] = time_json(record.expires_at);
  out["tombstone_until"] = time_json(record.tombstone_until);
  out["hold_until"] = time_json(record.hold_until);
  out["result"] = kResultNames[record.result];
  out["status_begun"] = record.status_begun > 0 ? json::value(record.status_begun) : nullptr;
  const bool answered = record.answer.status > 0;
  out["answer"] = answered ? json::value(answer_of(record.answer)) : nullptr;
  out["request"] = request_of(record);
  out["request_bytes"] = record.request.size();
  out["response_version"] = base::printable_utf8(record.response_version);
  out["trace"] = base::printable_utf8(record.trace);
  out["fingerprint"] = RecordId{record.fingerprint.digest}.hex();
  out["recipe"] = recipe_of(record.recipe);
  out["history"] = history_of(record);
  out["timeline"] = timeline_of(record);
  return out;
}

}  // namespace semel::admin
