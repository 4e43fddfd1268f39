#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sim/checks/checks.h"

namespace semel::sim {
namespace {

bool released_by_hand_between(const Lab& lab, const Written& first, const Written& second) {
  return std::ranges::any_of(lab.history.of(first.record->id), [&](const Written& write) {
    return write.record && !write.record->history.empty() &&
           write.record->version > first.record->version &&
           write.record->version < second.record->version && write.life == first.life &&
           write.record->attempt == first.record->attempt &&
           write.record->history.back().note.starts_with("released by ");
  });
}

// May `second` run, in view of `first`, whose claim came before?
bool allowed(const Lab& lab, const Execution& first, const Written& first_claim,
             const Written& second_claim, const Operation& operation) {
  if (operation.unknown == UnknownPolicy::retry) return true;
  if (first.reported_harmless_at && *first.reported_harmless_at <= second_claim.at) return true;
  if (released_by_hand_between(lab, first_claim, second_claim)) return true;
  if (first_claim.life == second_claim.life) return false;
  const LifeEnd end = lab.history.end_of(first.id, first_claim.life);
  return end == LifeEnd::expired || end == LifeEnd::superseded;
}

void check_key(const Lab& lab, int key, Violations& violations) {
  struct Claimed {
    const Execution* execution;
    const Written* claim;
  };
  std::vector<Claimed> runs;
  for (const Execution& execution : lab.upstream.ledger()) {
    if (execution.id != lab.id_of(key)) continue;
    const Written* claim = lab.history.claim_of(execution.id, execution.token);
    if (claim) {
      runs.push_back({&execution, claim});
    } else {
      violations.push_back(fmt::format("{}: attempt {} ran without a claim in the store",
                                       lab.key_name(key), execution.attempt));
    }
  }
  // By claim, not by start: a node that slept between the two starts late, but came first.
  std::ranges::sort(runs, {}, [](const Claimed& run) { return run.claim->record->version; });
  const Operation& operation = lab.scenario.keys[static_cast<std::size_t>(key)].operation;
  for (std::size_t second = 1; second < runs.size(); ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      const auto& [earlier, earlier_claim] = runs[first];
      const auto& [later, later_claim] = runs[second];
      if (allowed(lab, *earlier, *earlier_claim, *later_claim, operation)) continue;
      violations.push_back(fmt::format("{}: \"{}\" ran although \"{}\" may have had its effect",
                                       lab.key_name(key), later->answer.body,
                                       earlier->answer.body));
    }
  }
}

}  // namespace

void check_once(const Lab& lab, Violations& violations) {
  for (int key = 0; key < static_cast<int>(lab.scenario.keys.size()); ++key) {
    check_key(lab, key, violations);
  }
}

}  // namespace semel::sim
