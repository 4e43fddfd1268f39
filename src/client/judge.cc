#include "client/judge.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "base/text.h"
#include "client/wire/answer_reader.h"
#include "core/retry_after.h"

namespace semel::client {
namespace {

namespace json = boost::json;

constexpr std::size_t kProblemBytesMax = 64 * 1024;
// Longer than any answer could mean; RetryRules decides what is too long.
constexpr Duration kRetryAfterParsedMax = std::chrono::hours(24 * 365);

// Words for "a request with this key is being executed": Semel's, Stripe's, and common ones.
constexpr std::array kInProgress = {
    "in-progress",         "in_progress",        "idempotency_key_in_use",
    "request_in_progress", "concurrent_request", "lock_timeout"};
constexpr std::array kOtherRequest = {"key-reused", "key-expired", "idempotency_error",
                                      "idempotency_key_reused"};

template <class List>
bool is_one_of(std::string_view word, const List& list) {
  return std::ranges::find(list, word) != list.end();
}

bool says(const Answer& answer, std::string_view name, std::string_view value) {
  const std::string* found = find_header(answer, name);
  return found && base::lower_case(*found) == value;
}

std::string text_of(const json::object& object, std::string_view name) {
  const json::value* found = object.if_contains(name);
  return found && found->is_string() ? json::value_to<std::string>(*found) : std::string();
}

// Reads the problem document, in any of the shapes that Semel and others use: {"code"},
// {"error": "code"} and {"error": {"code"}}.
void read_problem(const Answer& answer, Judgement& judged) {
  if (answer.status < 400 || answer.body.size() > kProblemBytesMax) return;
  boost::system::error_code error;
  const json::value parsed = json::parse(answer.body, error);
  const json::object* object = error ? nullptr : parsed.if_object();
  if (object == nullptr) return;
  judged.code = text_of(*object, "code");
  if (judged.code.empty()) judged.code = text_of(*object, "error");
  if (const json::value* nested = object->if_contains("error"); nested && nested->is_object()) {
    object = &nested->get_object();
    judged.code = text_of(*object, "code");
    if (judged.code.empty()) judged.code = text_of(*object, "type");
  }
  const json::value* safe = object->if_contains("new_key_safe");
  judged.new_key_safe = safe && safe->is_bool() && safe->get_bool();
}

// A number that is too large to be one is a long time, too.
std::optional<Duration> read_retry_after(std::string_view text, Time now) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto after = core::parse_retry_after(text, now, kRetryAfterParsedMax);
  if (after || text.empty() || !std::ranges::all_of(text, is_digit)) return after;
  return kRetryAfterParsedMax;
}

Next by_status(int status) {
  switch (status) {
    case 408:
    case 409:
    case 425:
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
      return Next::again;
    case 400:
    case 410:
    case 422:
      return Next::refused;
    default:
      return Next::ends;
  }
}

Next decide(const Answer& answer, const Judgement& judged) {
  if (judged.code == "outcome-unknown") return Next::unknown;
  if (is_one_of(judged.code, kOtherRequest)) return Next::refused;
  if (says(answer, "Stripe-Should-Retry", "true")) return Next::again;
  const Next next = by_status(answer.status);
  if (next == Next::again && says(answer, "Stripe-Should-Retry", "false")) return Next::ends;
  // A kept answer stays what it is, however often it is asked for.
  return judged.replayed && next == Next::again ? Next::ends : next;
}

// Whoever answered with these does not know what the service behind it did.
bool is_in_the_dark(int status) {
  return status == 502 || status == 504;
}

}  // namespace

bool is_safe(std::string_view method) {
  return is_one_of(method, std::array{"GET", "HEAD", "OPTIONS", "TRACE"});
}

bool is_idempotent(std::string_view method) {
  return is_safe(method) || method == "PUT" || method == "DELETE";
}

Judgement judge(const Answer& answer, const Protection& request, Time now) {
  Judgement judged;
  judged.replayed =
      says(answer, "Idempotency-Replayed", "true") || says(answer, "Idempotent-Replayed", "true");
  judged.throttled = answer.status == 429 || answer.status == 503;
  const std::string* date = find_header(answer, "Date");
  const auto server_now = date ? core::parse_http_date(*date) : std::nullopt;
  if (const std::string* after = find_header(answer, "Retry-After")) {
    judged.retry_after = read_retry_after(*after, server_now.value_or(now));
  }
  if (const std::string* expires = find_header(answer, "Idempotency-Expires")) {
    judged.key_expires = core::parse_http_date(*expires);
  }
  read_problem(answer, judged);
  judged.in_progress = is_one_of(judged.code, kInProgress) ||
                       (answer.status == 409 && judged.retry_after.has_value());
  judged.next = decide(answer, judged);
  judged.degraded = says(answer, "Idempotency-Degraded", "true");
  const bool repeatable = (request.key && !judged.degraded) || is_idempotent(request.method);
  if (judged.next == Next::again && !repeatable) {
    judged.next = is_in_the_dark(answer.status) ? Next::unknown : Next::ends;
  }
  return judged;
}

}  // namespace semel::client
