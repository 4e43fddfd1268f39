#pragma once

#include <vector>

#include "semel/driver/operation.h"
#include "sim/random.h"

namespace semel::sim {

// How often, in a thousand swaps, what goes wrong.
struct FaultRates {
  int unavailable = 0;  // nothing written, and said so
  int held = 0;         // nothing written: somebody's open transaction holds the record
  int lost_reply = 0;   // written, fate unknown
  int lost_write = 0;   // not written, fate unknown
  int late_write = 0;   // fate unknown, written some time later
  int fading = 0;       // fate unknown, visible for a while, and then gone
  int slow = 0;         // answered after seconds
};

struct KeyRules {
  Operation operation;
  // From then on requests come with response_version "2"; kNever: they do not.
  Duration version_bump_at = Duration::max();
};

// Parameters drawn from a seed. Times are short: a lease lasts two seconds, a run half a minute.
struct Scenario {
  // One process at a time with the store to itself (embedded), or several over one (shared).
  bool exclusive = false;
  int nodes = 1;
  // The allowance that nodes make for each other's clocks, and how far clocks are really off.
  // Promise (c), no two live leases, needs twice `clock_off_max` <= `skew`. The others need no
  // bound: they rest on tokens and compare-and-swap, not on time.
  Duration skew{0};
  Duration clock_off_max{0};

  FaultRates rates;
  std::vector<KeyRules> keys;
  int requests = 0;
  int resolutions = 0;
  int crashes = 0;
  int freezes = 0;
  int clock_steps = 0;
  int outages = 0;

  // Nodes may die and clocks may differ, but nobody is held up: who lives keeps his lease.
  bool calm = false;

  bool clocks_are_bounded() const { return exclusive || 2 * clock_off_max <= skew; }

  static constexpr Duration kActive = std::chrono::seconds(20);
  static constexpr Duration kLease = std::chrono::seconds(2);
  static constexpr Duration kMaxExecution = std::chrono::seconds(8);

  static Scenario draw(Random& random);
};

}  // namespace semel::sim
