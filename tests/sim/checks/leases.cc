#include "sim/checks/checks.h"

namespace semel::sim {

void check_leases(const Lab& lab, Violations& violations) {
  if (!lab.scenario.clocks_are_bounded()) return;
  const auto& found = lab.leases.violations();
  violations.insert(violations.end(), found.begin(), found.end());
}

}  // namespace semel::sim
