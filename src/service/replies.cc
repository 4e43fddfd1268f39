#include "service/replies.h"

#include <algorithm>
#include <boost/json/object.hpp>

#include "base/utf8.h"
#include "core/json_text.h"
#include "execution/answer/answer_json.h"

namespace semel::service {
namespace json = boost::json;
namespace {

constexpr std::chrono::seconds kStoreRetry{1};

Answer json_answer(int status, const json::object& body) {
  return {.status = status,
          .headers = {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}},
          .body = core::json_text(body) + "\n"};
}

void add_time(json::object& out, std::string_view name, Time at) {
  if (at != kNever) out[name] = execution::timestamp(at);
}

json::object lease_of(const Record& record, Time now) {
  json::object out;
  out["record"] = record.id.hex();
  out["token"] = record.token.hex();
  out["attempt"] = record.attempt;
  out["lease_until"] = execution::timestamp(record.lease_until);
  // For clients whose clock is not ours.
  out["lease_ms"] = std::max<std::int64_t>(0, (record.lease_until - now).count());
  return out;
}

json::object state_of(const Record& record) {
  json::object out;
  out["record"] = record.id.hex();
  out["state"] = to_string(record.state);
  out["attempt"] = record.attempt;
  add_time(out, "updated_at", record.updated_at);
  add_time(out, "expires_at", record.expires_at);
  return out;
}

}  // namespace

Answer claimed(const Record& record, Time now) {
  return json_answer(201, lease_of(record, now));
}

Answer renewed(const Record& record, Time now) {
  return json_answer(200, lease_of(record, now));
}

Answer shown(const Record& record) {
  json::object out = state_of(record);
  out["tenant"] = base::printable_utf8(record.tenant);
  out["operation"] = base::printable_utf8(record.operation);
  out["key"] = base::printable_utf8(record.key);
  add_time(out, "created_at", record.created_at);
  if (record.state == RecordState::in_progress) add_time(out, "lease_until", record.lease_until);
  if (record.state == RecordState::completed) {
    out["result"] = record.result == RecordResult::succeeded ? "succeeded" : "failed";
    out["answer"] = execution::answer_json(record.answer);
  }
  return json_answer(200, out);
}

Answer reported(const Record& record) {
  return json_answer(200, state_of(record));
}

Answer problem(const core::Problem& problem, std::optional<std::chrono::seconds> retry_after) {
  Answer answer = core::to_answer(problem, core::ErrorShape::problem);
  answer.body += "\n";
  answer.headers.push_back({"Cache-Control", "no-store"});
  if (problem.code == core::Code::key_invalid) {
    answer.headers.push_back({"Link", "</v1/openapi.json>; rel=\"describedby\""});
  }
  if (retry_after) {
    const auto seconds = std::max<std::int64_t>(1, retry_after->count());
    answer.headers.push_back({"Retry-After", std::to_string(seconds)});
  }
  return answer;
}

Answer invalid(std::string why, bool new_key_safe) {
  return problem({.code = core::Code::request_invalid,
                  .detail = std::move(why),
                  .new_key_safe = new_key_safe});
}

Answer no_such_record() {
  return problem({.code = core::Code::record_unknown,
                  .detail = "There is no such record, or it is not this client's."});
}

Answer store_unavailable(std::string detail) {
  return problem({.code = core::Code::store_unavailable, .detail = std::move(detail)}, kStoreRetry);
}

}  // namespace semel::service
