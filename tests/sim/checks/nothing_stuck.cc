#include <fmt/format.h>

#include "sim/checks/checks.h"

namespace semel::sim {
namespace {

// A sweep and its retries.
constexpr Duration kSweepGrace = std::chrono::seconds(3);

}  // namespace

void check_nothing_stuck(const Lab& lab, Violations& violations) {
  if (lab.open_sessions != 0) {
    violations.push_back(fmt::format("{} clients were left hanging", lab.open_sessions));
  }
  const Time overdue =
      lab.time.now() - lab.scenario.clock_off_max - lab.scenario.skew - kSweepGrace;
  for (const auto& [id, record] : lab.store.records()) {
    if (record.state == RecordState::in_progress) {
      violations.push_back(fmt::format("{} is in progress for ever", record.key));
    }
    if (due_at(record) < overdue) {
      violations.push_back(
          fmt::format("{} is {} and overdue", record.key, to_string(record.state)));
    }
  }
}

}  // namespace semel::sim
