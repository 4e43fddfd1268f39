#include <fmt/format.h>

#include "base/text.h"
#include "check/lab.h"

// A used key comes back with another request.
namespace semel::check {
namespace {

constexpr std::size_t kTellingBytesMin = 3;  // shorter values occur by chance

struct Mismatched {
  bool tried = false;
  Answer first;
  Answer other;
  Answer again;
  std::optional<long> by_other;  // effects by the counter
  std::optional<long> by_again;
};

Mismatched observe_mismatch(Lab& lab) {
  Mismatched seen;
  const auto other = lab.other_payload();
  if (!other) return seen;
  seen.tried = true;
  const std::string key = lab.new_key();
  const std::string payload = lab.payload();
  seen.first = lab.settle(lab.request(key, payload));
  Effects during(lab);
  seen.other = lab.send(lab.request(key, *other));
  seen.by_other = during.counted();
  Effects after(lab);
  seen.again = lab.settle(lab.request(key, payload));
  seen.by_again = after.counted();
  return seen;
}

Finding not_varied(Lab& lab) {
  return not_applicable(lab.calibration().unvarying);
}

Finding mismatch_refused(Lab& lab) {
  const Mismatched& seen = lab.observed(observe_mismatch);
  if (!seen.tried) return not_varied(lab);
  if (seen.other.status >= 400) return passed();
  const bool replayed = lab.witness().known() && lab.same(seen.first, seen.other);
  return failed(fmt::format("another payload with a used key got {}{}", seen.other.shown(),
                            replayed ? ", the answer to the first payload" : ""));
}

Finding mismatch_no_effect(Lab& lab) {
  const Mismatched& seen = lab.observed(observe_mismatch);
  if (!seen.tried) return not_varied(lab);
  const bool executed =
      seen.other.ok() && lab.witness().known() && !lab.same(seen.first, seen.other);
  if (executed || seen.by_other.value_or(0) > 0) {
    return failed("another payload with a used key was executed");
  }
  if (seen.by_other || (seen.other.ok() && lab.witness().known())) return passed();
  return unproven("a refusal does not show that there was no effect; give --count or --count-cmd");
}

Finding mismatch_422(Lab& lab) {
  const Mismatched& seen = lab.observed(observe_mismatch);
  if (!seen.tried) return not_varied(lab);
  if (seen.other.status < 400) return not_applicable("it is not refused: see mismatch/refused");
  if (seen.other.status == 422) return passed();
  return failed(fmt::format("another payload got {} (SHOULD be 422)", seen.other.status));
}

bool explains(const Answer& answer) {
  if (answer.has("Link")) return true;
  return base::lower_case(answer.get("Content-Type")).contains("json") && answer.body.size() > 2;
}

Finding mismatch_says_why(Lab& lab) {
  const Mismatched& seen = lab.observed(observe_mismatch);
  if (!seen.tried) return not_varied(lab);
  if (seen.other.status < 400) return not_applicable("it is not refused: see mismatch/refused");
  if (explains(seen.other)) return passed();
  return failed("the refusal has neither a Link nor a document that says why");
}

Finding mismatch_does_not_poison(Lab& lab) {
  const Mismatched& seen = lab.observed(observe_mismatch);
  if (!seen.tried) return not_varied(lab);
  if (!seen.again.ok()) {
    return failed("after a mismatch, the first payload got " + seen.again.shown());
  }
  if (!lab.same(seen.first, seen.again) || seen.by_again.value_or(0) > 0) {
    return failed("after a mismatch, the first payload was executed again");
  }
  return lab.witness().known() || seen.by_again
             ? passed()
             : unproven("nothing in the answers tells executions apart; give --count");
}

Finding mismatch_no_leak(Lab& lab) {
  const Mismatched& seen = lab.observed(observe_mismatch);
  if (!seen.tried) return not_varied(lab);
  if (seen.other.status < 400) return not_applicable("it is not refused: see mismatch/refused");
  bool telling = false;
  for (const std::string& value : lab.witness().values(seen.first)) {
    if (value.size() < kTellingBytesMin) continue;
    telling = true;
    if (seen.other.body.contains(value)) {
      return failed(fmt::format("the refusal shows {} of the first answer", value));
    }
  }
  return telling ? passed() : unproven("the first answer has nothing that would be recognised");
}

Finding mismatch_in_flight(Lab& lab) {
  const auto other = lab.other_payload();
  if (!other) return not_varied(lab);
  Effects effects(lab);
  const std::string key = lab.new_key();
  Line line = lab.client().open(lab.request(key, lab.extra_payload("--slow-body")));
  line.send_rest();
  lab.client().pause(Milliseconds(static_cast<long>(lab.calibration().slow_seconds * 250)));
  Line second = lab.client().open(lab.request(key, *other));
  second.send_rest();
  const Answer first = lab.answer_of(line);
  const Answer refused = lab.answer_of(second);
  effects.saw(first);
  effects.saw(refused);
  if (refused.ok() && !lab.is_busy(refused)) {
    return failed("another payload got " + refused.shown() + " while the first was running");
  }
  return effects.expect(1, "two payloads with one key, one while the other ran,");
}

// Sends the first request, then `changed` with its key.
Finding judge_elsewhere(Lab& lab, const Request& first, const Request& changed,
                        std::string_view where) {
  const Answer one = lab.send(first);
  const Answer other = lab.send(changed);
  if (!one.ok()) return failed("a new key got " + one.shown());
  if (other.ok() && lab.same(one, other)) {
    return failed(fmt::format("{} got the answer of the first", where));
  }
  if (other.status >= 500 || other.status == 0) {
    return failed(fmt::format("{} got {}", where, other.shown()));
  }
  return passed(other.ok() ? "a key of its own" : "refused with " + other.shown());
}

Finding mismatch_other_path(Lab& lab) {
  const Request first = lab.request(lab.new_key(), lab.payload());
  Request changed = first;
  changed.path = *lab.options().extra("--other-path");
  return judge_elsewhere(lab, first, changed, "the key on another path");
}

Finding mismatch_other_query(Lab& lab) {
  const Request first = lab.request(lab.new_key(), lab.payload());
  Request changed = first;
  changed.path += (changed.path.contains('?') ? "&" : "?") + *lab.options().extra("--other-query");
  return judge_elsewhere(lab, first, changed, "the key with another query");
}

Finding mismatch_other_method(Lab& lab) {
  const Request first = lab.request(lab.new_key(), lab.payload());
  Request changed = first;
  changed.method = *lab.options().extra("--other-method");
  return judge_elsewhere(lab, first, changed, "the key with another method");
}

constexpr Check kMismatch[] = {
    {"mismatch/refused", Level::safety, "2.2, 2.7", "another payload with a used key is refused",
     "", 3, 1, mismatch_refused},
    {"mismatch/no-effect", Level::safety, "2.2", "another payload with a used key has no effect",
     "", 0, 0, mismatch_no_effect},
    {"mismatch/422", Level::draft, "2.7", "it is refused with 422", "", 0, 0, mismatch_422},
    {"mismatch/says-why", Level::draft, "2.7", "the refusal has a Link or a document that explains",
     "", 0, 0, mismatch_says_why},
    {"mismatch/does-not-poison", Level::safety, "2.6", "the first payload is still replayed then",
     "", 0, 0, mismatch_does_not_poison},
    {"mismatch/no-leak", Level::safety, "5", "the refusal does not show the first answer", "", 0, 0,
     mismatch_no_leak},
    {"mismatch/in-flight", Level::safety, "2.2",
     "another payload is not executed while the first one runs", "--slow-body", 2, 1,
     mismatch_in_flight},
    {"mismatch/other-path", Level::safety, "5", "another path never gets this path's answer",
     "--other-path", 2, 2, mismatch_other_path},
    {"mismatch/other-query", Level::safety, "5", "another query never gets this query's answer",
     "--other-query", 2, 2, mismatch_other_query},
    {"mismatch/other-method", Level::safety, "5", "another method never gets this method's answer",
     "--other-method", 2, 1, mismatch_other_method},
};

}  // namespace

std::span<const Check> mismatch_checks() {
  return kMismatch;
}

}  // namespace semel::check
