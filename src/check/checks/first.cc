#include <fmt/format.h>

#include "check/lab.h"

// A key that was never used.
namespace semel::check {
namespace {

Finding first_executes(Lab& lab) {
  Effects effects(lab);
  const Answer answer = lab.send(lab.request(lab.new_key(), lab.payload()));
  if (!answer.ok()) return failed("a new key got " + answer.shown());
  effects.saw(answer);
  return effects.expect(1, "a request with a new key");
}

Finding first_two_keys(Lab& lab) {
  Effects effects(lab);
  const std::string payload = lab.payload();
  for (int i = 0; i < 2; ++i) {
    const Answer answer = lab.send(lab.request(lab.new_key(), payload));
    if (!answer.ok()) return failed("the same payload with a new key got " + answer.shown());
    effects.saw(answer);
  }
  Finding found = effects.expect(2, "one payload with two keys");
  if (found.verdict == Verdict::unproven && lab.witness().known()) {
    return failed("two keys with one payload got the answer of one execution");
  }
  return found;
}

Finding first_policy(Lab& lab) {
  const std::string* url = lab.options().extra("--policy");
  const auto link = std::string(lab.calibration().first.get("Link"));
  if (url == nullptr) {
    return said(link.empty() ? "no Link in the answer; give --policy URL if there is a page"
                             : "the answer links to " + link);
  }
  const auto target = parse_target(*url);
  if (!target) return failed("--policy: the URL " + target.error());
  const Answer answer = lab.client().get(*target);
  if (!answer.ok()) return said("the policy got " + answer.shown());
  return said(fmt::format("a policy of {} bytes is published at {}", answer.body.size(), *url));
}

constexpr Check kFirst[] = {
    {"first/executes", Level::draft, "2.6", "a new key is executed: 2xx, one effect", "", 1, 1,
     first_executes},
    {"first/two-keys", Level::safety, "2.2", "one payload with two keys has two effects", "", 2, 2,
     first_two_keys},
    {"first/policy", Level::info, "2.5.2", "whether rules and expiry are published", "", 0, 0,
     first_policy},
};

}  // namespace

std::span<const Check> first_checks() {
  return kFirst;
}

}  // namespace semel::check
