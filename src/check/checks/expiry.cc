#include <fmt/format.h>

#include "check/lab.h"

// How long a key is kept, against what is said.
namespace semel::check {
namespace {

using SteadyClock = std::chrono::steady_clock;

struct Expired {
  bool tried = false;
  Answer first;
  Answer before;  // well within the time
  Answer after;   // when it had passed
};

Expired observe_expiry(Lab& lab) {
  Expired seen;
  const Milliseconds ttl = *lab.options().ttl;
  const Milliseconds slack = std::max(Milliseconds(1500), ttl / 2);
  if (SteadyClock::now() + ttl + slack >= lab.client().end()) return seen;
  seen.tried = true;
  const Request request = lab.request(lab.new_key(), lab.payload());
  const auto begun = SteadyClock::now();
  seen.first = lab.send(request);
  lab.client().pause(ttl * 7 / 10);
  seen.before = lab.send(request);
  const auto over = begun + ttl * 21 / 20;
  if (over > SteadyClock::now()) {
    lab.client().pause(std::chrono::ceil<Milliseconds>(over - SteadyClock::now()));
  }
  for (;;) {
    seen.after = lab.send(request);
    const bool gone = !seen.after.ok() || !lab.same(seen.first, seen.after);
    if (gone || SteadyClock::now() >= begun + ttl + slack) return seen;
    lab.client().pause(slack / 5);
  }
}

Finding too_long() {
  return not_applicable("--ttl is longer than what is left of --timeout");
}

Finding expiry_kept_as_said(Lab& lab) {
  const Expired& seen = lab.observed(observe_expiry);
  if (!seen.tried) return too_long();
  if (!seen.before.ok()) return failed("a retry before --ttl got " + seen.before.shown());
  if (!lab.witness().known()) return unproven("nothing in the answers tells executions apart");
  return lab.same(seen.first, seen.before) ? passed()
                                           : failed("a retry before --ttl was executed again");
}

Finding expiry_then(Lab& lab) {
  const Expired& seen = lab.observed(observe_expiry);
  if (!seen.tried) return too_long();
  if (!lab.witness().known()) return unproven("nothing in the answers tells executions apart");
  if (seen.after.ok() && lab.same(seen.first, seen.after)) {
    return failed("the key is still replayed after --ttl");
  }
  const std::string how = seen.after.ok() ? "is executed anew" : "gets " + seen.after.shown();
  lab.behaves("an expired key", how);
  if (seen.after.ok() || seen.after.status == 410 || seen.after.status == 422) {
    return passed("it " + how);
  }
  return failed("an expired key got " + seen.after.shown());
}

constexpr Check kExpiry[] = {
    {"expiry/kept-as-said", Level::draft, "2.3, 2.5.2", "a key is kept until its time is over",
     "--ttl", 5, 2, expiry_kept_as_said},
    {"expiry/then", Level::draft, "2.3", "then it is executed anew, or refused with 410", "--ttl",
     0, 0, expiry_then},
};

}  // namespace

std::span<const Check> expiry_checks() {
  return kExpiry;
}

}  // namespace semel::check
