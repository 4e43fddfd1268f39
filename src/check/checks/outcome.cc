#include <fmt/format.h>

#include "check/lab.h"

// Checks that answers which invite a retry are not kept.
namespace semel::check {
namespace {

Finding outcome_retryable(Lab& lab) {
  const Request request = lab.request(lab.new_key(), lab.extra_payload("--retryable-body"));
  const Answer first = lab.send_once(request);
  if (first.status != 429 && first.status < 500) {
    return unproven(fmt::format("--retryable-body got {} at first, not 503 or 429", first.shown()));
  }
  const Answer retry = lab.send_once(request);
  if (retry.ok()) {
    lab.behaves(std::to_string(first.status), "may be tried again");
    return passed(fmt::format("{}, then {}", first.status, retry.status));
  }
  if (retry.status == first.status && lab.is_marked(retry)) {
    return failed(fmt::format("{} is kept: a retry can never succeed", first.status));
  }
  return unproven(
      fmt::format("the retry got {}; give a body that succeeds when tried again", retry.shown()));
}

Finding outcome_server_error(Lab& lab) {
  const Request request = lab.request(lab.new_key(), lab.extra_payload("--broken-body"));
  const Answer first = lab.send_once(request);
  if (first.status < 500) return unproven("--broken-body got " + first.shown() + ", not 500");
  const Answer retry = lab.send_once(request);
  const bool kept = retry.status == first.status && lab.is_marked(retry);
  const std::string how = kept ? "is kept" : "may be tried again";
  lab.behaves(std::to_string(first.status), how);
  return said(fmt::format("{} {}", first.status, how));
}

constexpr Check kOutcome[] = {
    {"outcome/retryable", Level::profile, "tracker #48", "503 and 429 are not kept",
     "--retryable-body", 2, 1, outcome_retryable},
    {"outcome/server-error", Level::info, "2.6", "whether 500 is kept", "--broken-body", 2, 0,
     outcome_server_error},
};

}  // namespace

std::span<const Check> outcome_checks() {
  return kOutcome;
}

}  // namespace semel::check
