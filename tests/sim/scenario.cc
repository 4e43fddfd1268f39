#include "sim/scenario.h"

namespace semel::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

KeyRules draw_key(Random& random) {
  KeyRules rules;
  Operation& operation = rules.operation;
  const int kind = random.below(10);
  operation.unknown = kind < 5   ? UnknownPolicy::hold
                      : kind < 8 ? UnknownPolicy::retry
                                 : UnknownPolicy::fail;
  operation.on_retry = random.chance(250) ? OnRetry::forget : OnRetry::keep;
  operation.lease = Scenario::kLease;
  operation.max_execution = Scenario::kMaxExecution;
  operation.ttl = random.chance(600) ? Duration(random.ms(300, 4000)) : std::chrono::hours(1);
  operation.tombstone = random.chance(150) ? random.ms(500, 3000) : Duration(0);
  operation.hold_for = random.chance(100) ? random.ms(2000, 8000) : Duration::max();
  operation.ttl_from_creation = random.chance(200);
  operation.on_version_change = random.chance(500) ? OnVersionChange::gone : OnVersionChange::fresh;
  if (random.chance(150)) rules.version_bump_at = random.ms(4000, 16000);
  return rules;
}

FaultRates draw_rates(Random& random) {
  return {.unavailable = random.below(60),
          .held = random.below(60),
          .lost_reply = random.below(120),
          .lost_write = random.below(60),
          .late_write = random.below(80),
          .fading = random.below(120),
          .slow = random.below(20)};
}

}  // namespace

Scenario Scenario::draw(Random& random) {
  Scenario scenario;
  scenario.exclusive = random.chance(350);
  if (scenario.exclusive) {
    scenario.clock_off_max = random.chance(500) ? seconds(8) : Duration(0);
  } else {
    scenario.nodes = random.between(1, 3);
    scenario.skew = random.ms(200, 1000);
    scenario.clock_off_max = random.chance(200) ? seconds(8) : scenario.skew / 2;
  }
  scenario.calm = scenario.clocks_are_bounded() && random.chance(200);
  if (!scenario.calm) scenario.rates = draw_rates(random);
  // No other server can take the place of a store inside the process.
  if (scenario.exclusive) scenario.rates.fading = 0;
  const int keys = random.between(1, 6);
  for (int key = 0; key < keys; ++key) scenario.keys.push_back(draw_key(random));
  scenario.requests = random.between(20, 90);
  scenario.resolutions = random.chance(500) ? random.between(1, 12) : 0;
  scenario.crashes = random.between(0, 4);
  scenario.freezes = scenario.calm ? 0 : random.between(0, 3);
  scenario.clock_steps = random.between(0, 4);
  scenario.outages = !scenario.calm && random.chance(400) ? random.between(1, 2) : 0;
  return scenario;
}

}  // namespace semel::sim
