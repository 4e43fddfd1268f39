#include "core/problem.h"

#include <boost/json.hpp>

namespace semel::core {
namespace {

struct Entry {
  Code code;
  int status;
  std::string_view name;
  std::string_view title;
};

constexpr Entry kEntries[] = {
    {Code::key_missing, 400, "key-missing", "This request needs an idempotency key"},
    {Code::key_invalid, 400, "key-invalid", "The idempotency key is not valid"},
    {Code::signature_invalid, 401, "signature-invalid", "The event has no valid signature"},
    {Code::tenant_unknown, 401, "tenant-unknown", "The caller could not be identified"},
    {Code::in_progress, 409, "in-progress", "A request with this key is being executed"},
    {Code::outcome_unknown, 409, "outcome-unknown",
     "It is not known whether the request with this key took effect"},
    {Code::key_expired, 410, "key-expired", "This key was used and has expired"},
    {Code::body_too_large, 413, "body-too-large", "The request body is too large"},
    {Code::key_reused, 422, "key-reused", "This key was used for another request"},
    {Code::too_many_keys, 429, "too-many-keys", "Too many new keys"},
    {Code::upstream_unreachable, 502, "upstream-unreachable", "The service could not be reached"},
    {Code::upstream_timeout, 504, "upstream-timeout", "The service did not answer in time"},
    {Code::store_unavailable, 503, "store-unavailable", "The store of keys is unavailable"},
    {Code::overloaded, 503, "overloaded", "The gateway is overloaded"},
    {Code::circuit_open, 503, "circuit-open", "The service fails at the moment"},
    {Code::authorization_unavailable, 503, "authorization-unavailable",
     "It could not be checked whether the caller may see the answer"},
    {Code::bad_request, 400, "bad-request", "The request is not valid HTTP"},
    {Code::no_route, 404, "no-route", "Nothing is configured for this path"},
    {Code::request_invalid, 400, "request-invalid", "The request's body is not valid"},
    {Code::client_unknown, 401, "client-unknown", "The client could not be identified"},
    {Code::not_allowed, 403, "not-allowed", "The client may not use this"},
    {Code::record_unknown, 404, "record-unknown", "There is no such record"},
    {Code::method_not_allowed, 405, "method-not-allowed", "The method is not supported here"},
    {Code::claim_lost, 409, "claim-lost", "The claim has ended"},
    {Code::token_used, 409, "token-used", "The token was used for an earlier claim"},
};

const Entry& entry(Code code) {
  for (const Entry& e : kEntries) {
    if (e.code == code) return e;
  }
  return kEntries[0];
}

boost::json::array list(const std::vector<std::string>& names) {
  return boost::json::array(names.begin(), names.end());
}

}  // namespace

std::string_view to_string(Code code) {
  return entry(code).name;
}

int default_status(Code code) {
  return entry(code).status;
}

Answer to_answer(const Problem& problem, ErrorShape shape) {
  const Entry& e = entry(problem.code);
  Answer answer;
  answer.status = problem.status ? problem.status : e.status;
  boost::json::object body;
  if (shape == ErrorShape::problem) {
    body["type"] = "urn:semel:problem:" + std::string(e.name);
    body["title"] = e.title;
    body["status"] = answer.status;
    body["detail"] = problem.detail;
    body["code"] = e.name;
  } else if (shape == ErrorShape::flat) {
    body["error"] = e.name;
    body["message"] = problem.detail;
  } else {
    body["type"] = "idempotency_error";
    body["code"] = e.name;
    body["message"] = problem.detail;
  }
  body["new_key_safe"] = problem.new_key_safe;
  if (!problem.differs.empty()) body["differs"] = list(problem.differs);
  if (!problem.resource_id.empty()) {
    body["resource"] = {{"type", problem.resource_type}, {"id", problem.resource_id}};
  }
  if (!problem.record.empty()) body["record"] = problem.record;
  if (shape == ErrorShape::nested) body = {{"error", std::move(body)}};

  answer.headers.push_back({"Content-Type", shape == ErrorShape::problem
                                                ? "application/problem+json"
                                                : "application/json"});
  if (!problem.record.empty()) answer.headers.push_back({"Semel-Record", problem.record});
  answer.body = boost::json::serialize(body);
  return answer;
}

}  // namespace semel::core
