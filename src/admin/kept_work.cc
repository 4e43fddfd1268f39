#include "admin/kept_work.h"

#include "admin/admin_answer.h"
#include "base/names.h"
#include "base/utf8.h"
#include "config/reading/values.h"
#include "execution/operation_name.h"
#include "execution/queued_request.h"

namespace semel::admin {
namespace json = boost::json;
namespace {

constexpr auto kWorkStates = base::names<WorkState::dead>({
    {WorkState::queued, "queued"},
    {WorkState::running, "running"},
    {WorkState::dead, "dead"},
});

// Until the first try there is nothing to wait for but a place.
json::value next_try_of(const Record& record) {
  const bool waits = record.state == RecordState::queued && record.attempt > 0;
  return waits ? time_json(record.lease_until) : json::value(nullptr);
}

}  // namespace

std::optional<WorkState> work_state_of(const Record& record) {
  if (record.request.empty()) return std::nullopt;
  switch (record.state) {
    case RecordState::queued:
      return WorkState::queued;
    case RecordState::in_progress:
      return WorkState::running;
    case RecordState::unknown:
      return WorkState::dead;
    case RecordState::completed:
    case RecordState::released:
    case RecordState::tombstone:
      return std::nullopt;
  }
  return std::nullopt;
}

void list_only(WorkState state, Search& out) {
  out.only = [state](const Record& record) { return work_state_of(record) == state; };
}

std::optional<std::string> set_work_filter(std::string_view name, std::string_view value,
                                           Search& out) {
  if (name == "operation") return out.filter.set(name, value);
  if (name != "state") {
    return config::reading::quote(name) + " is not a filter of work; use operation or state";
  }
  for (const WorkState state : {WorkState::queued, WorkState::running, WorkState::dead}) {
    if (kWorkStates[state] != value) continue;
    list_only(state, out);
    return std::nullopt;
  }
  return "state: " + config::reading::quote(value) +
         " is not a state of work; use queued, running or dead";
}

void trim_work(std::string& request) {
  auto read = execution::decode_queued_request(request);
  std::string trimmed = "?";  // it cannot be read, but there is one
  if (read) {
    read->headers.clear();
    read->body.clear();
    trimmed = execution::encode(*read);
  }
  if (!request.empty()) request.swap(trimmed);
}

json::object work_json(const Record& record) {
  const auto request = execution::decode_queued_request(record.request);
  const auto state = work_state_of(record);
  const bool is_any = record.operation == execution::kEveryOperation;
  json::object out;
  out["id"] = record.id.hex();
  out["kind"] = record.tenant == config::kWebhookTenant ? "webhook" : "request";
  out["operation"] = is_any ? "*" : base::printable_utf8(execution::name_in(record.operation));
  out["tenant"] = base::printable_utf8(record.tenant);
  out["key"] = base::printable_utf8(record.key);
  out["state"] = state ? json::value(kWorkStates[*state]) : json::value(nullptr);
  out["attempt"] = record.attempt;
  out["reason"] = base::printable_utf8(record.reason);
  out["created_at"] = time_json(record.created_at);
  out["updated_at"] = time_json(record.updated_at);
  out["next_try_at"] = next_try_of(record);
  out["method"] = request ? text_or_null(request->method) : json::value(nullptr);
  const std::string_view target = request ? std::string_view(request->target) : "";
  out["path"] = text_or_null(target.substr(0, target.find('?')));
  return out;
}

}  // namespace semel::admin
