#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "semel/driver/record.h"

namespace semel::core {

// The error codes of docs/spec.md 14. Stable; each is a problem type.
enum class Code {
  key_missing,
  key_invalid,
  signature_invalid,
  tenant_unknown,
  in_progress,
  outcome_unknown,
  key_expired,
  body_too_large,
  key_reused,
  too_many_keys,
  upstream_unreachable,
  upstream_timeout,
  store_unavailable,
  overloaded,
  circuit_open,
  authorization_unavailable,
  // Not about keys:
  bad_request,
  no_route,
  // Of the service API:
  request_invalid,
  client_unknown,
  not_allowed,
  record_unknown,
  method_not_allowed,
  claim_lost,
  token_used,
};
std::string_view to_string(Code code);
int default_status(Code code);

enum class ErrorShape { problem, flat, nested };

struct Problem {
  Code code = Code::bad_request;
  int status = 0;  // 0: the default of the code
  std::string detail = {};
  // False where a new key could cause a second effect.
  bool new_key_safe = false;
  std::vector<std::string> differs = {};  // key_reused only
  // The resource that the request under this key created, if the route knows it.
  std::string resource_type = {};
  std::string resource_id = {};
  // The record's id, or its first digits, by which an operator finds it. Empty: the request has no
  // record.
  std::string record = {};
  // When the client should try again. nullopt: a second if the code is one to try again after.
  std::optional<Duration> retry_after = {};
};

// Returns the body, its Content-Type and Semel-Record, as an answer without other headers.
Answer to_answer(const Problem& problem, ErrorShape shape);

}  // namespace semel::core
