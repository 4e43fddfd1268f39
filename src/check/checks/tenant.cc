#include <fmt/format.h>

#include "check/lab.h"

// Whose key it is: another caller neither gets nor learns anything by it.
namespace semel::check {
namespace {

Request as_caller(const Lab& lab, Request request, std::string_view option) {
  request.set("Authorization", *lab.options().extra(option));
  return request;
}

// A caller that is refused anyway proves nothing.
bool is_refused(const Answer& answer) {
  return answer.status == 401 || answer.status == 403;
}

Finding tenant_other(Lab& lab) {
  const Request request = lab.request(lab.new_key(), lab.payload());
  const Answer mine = lab.send(request);
  const Answer theirs = lab.settle(as_caller(lab, request, "--other-auth"));
  if (is_refused(theirs)) return unproven("--other-auth is refused: " + theirs.shown());
  if (!theirs.ok()) return failed("another caller with the same key got " + theirs.shown());
  if (!lab.witness().known()) return unproven("nothing in the answers tells executions apart");
  if (lab.same(mine, theirs)) return failed("another caller with the same key got this answer");
  return passed();
}

Finding tenant_no_probe(Lab& lab) {
  const auto other = lab.other_payload();
  if (!other) return not_applicable(lab.calibration().unvarying);
  const std::string key = lab.new_key();
  lab.send(lab.request(key, lab.payload()));
  const Request probing = as_caller(lab, lab.request(key, *other), "--other-auth");
  const Answer theirs = lab.send(probing);
  if (theirs.ok()) return passed();
  if (is_refused(theirs)) return unproven("--other-auth is refused: " + theirs.shown());
  return failed(fmt::format("another caller learns that a key is used: {}", theirs.shown()));
}

Finding tenant_replay_needs_auth(Lab& lab) {
  const Request request = lab.request(lab.new_key(), lab.payload());
  const Answer mine = lab.send(request);
  const Request bad = as_caller(lab, request, "--bad-auth");
  const Answer theirs = lab.send(bad);
  if (theirs.ok() && lab.same(mine, theirs)) {
    return failed("a caller without the right got the stored answer");
  }
  if (theirs.ok()) return unproven("--bad-auth is accepted");
  return passed("refused with " + theirs.shown());
}

Finding tenant_401_not_kept(Lab& lab) {
  const Request request = lab.request(lab.new_key(), lab.payload());
  const Answer refused = lab.send(as_caller(lab, request, "--bad-auth"));
  if (refused.ok()) return unproven("--bad-auth is accepted");
  const Answer mine = lab.settle(request);
  if (mine.ok()) return passed();
  return failed(fmt::format("after a try that got {}, the right caller got {}", refused.shown(),
                            mine.shown()));
}

constexpr Check kTenant[] = {
    {"tenant/other", Level::safety, "5", "another caller with the same key is executed",
     "--other-auth", 2, 2, tenant_other},
    {"tenant/no-probe", Level::safety, "5", "another caller cannot tell that a key is used",
     "--other-auth", 2, 2, tenant_no_probe},
    {"tenant/replay-needs-auth", Level::safety, "5", "a replay needs the right to the answer",
     "--bad-auth", 2, 1, tenant_replay_needs_auth},
    {"tenant/401-not-kept", Level::safety, "5", "a try without the right does not take the key",
     "--bad-auth", 2, 1, tenant_401_not_kept},
};

}  // namespace

std::span<const Check> tenant_checks() {
  return kTenant;
}

}  // namespace semel::check
