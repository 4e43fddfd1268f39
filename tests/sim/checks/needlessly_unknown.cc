#include <fmt/format.h>

#include <algorithm>

#include "sim/checks/checks.h"

namespace semel::sim {
namespace {

bool nobody_knows(const Lab& lab, const Record& record) {
  return std::ranges::any_of(lab.upstream.ledger(), [&](const Execution& execution) {
    return execution.token == record.token && (execution.fate == Fate::silent || execution.dropped);
  });
}

}  // namespace

void check_needlessly_unknown(const Lab& lab, Violations& violations) {
  for (const auto& [id, record] : lab.store.records()) {
    if (record.state != RecordState::unknown) continue;
    const bool owner_died = lab.died.contains({record.owner.node, record.owner.run});
    if (owner_died || nobody_knows(lab, record) || lab.outlived.contains(record.token)) continue;
    violations.push_back(fmt::format("{}: attempt {} of {}, which lives, is unknown for no reason",
                                     record.key, record.attempt, record.owner.node));
  }
}

}  // namespace semel::sim
