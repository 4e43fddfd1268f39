#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "semel/answer.h"
#include "semel/time.h"

// The rules of docs/client.md about answers, without I/O. If one of them retries what is not
// protected by a key, a request has two effects.
namespace semel::client {

enum class Next {
  ends,     // this is the answer
  refused,  // this request will not do
  unknown,  // it may have happened
  again,    // with the same key
};

struct Judgement {
  Next next = Next::ends;
  bool replayed = false;
  bool in_progress = false;  // the server is at it: it is alive, and a retry is no burden
  bool throttled = false;    // 429 or 503
  bool degraded = false;     // the server did not protect this request by its key
  bool new_key_safe = false;
  std::optional<Duration> retry_after;
  std::optional<Time> key_expires;
  std::string code;  // of the problem document; may be empty
};

// A request as the rules see it.
struct Protection {
  std::string_view method;
  bool key = false;  // one is sent
};

// Repeating the request has no further effect, with or without a key (RFC 9110, 9.2.2).
bool is_idempotent(std::string_view method);
// The request has no effect (RFC 9110, 9.2.1).
bool is_safe(std::string_view method);

Judgement judge(const Answer& answer, const Protection& request, Time now);

}  // namespace semel::client
