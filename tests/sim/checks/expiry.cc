#include <fmt/format.h>

#include <algorithm>

#include "sim/checks/checks.h"

namespace semel::sim {
namespace {

// Largest change that the engine does not take for a step. Counts once per step of the clock.
constexpr Duration kNoStep = std::chrono::seconds(1);

Duration tolerance(const Lab& lab, Time from, Time until) {
  const auto steps = std::ranges::count_if(lab.clock_steps, [&](const Lab::ClockStep& step) {
    return step.at >= from && step.at <= until;
  });
  return kNoStep * (1 + steps);
}

// When it was stamped, in true time: it may have been on its way to the store for long.
Time stamped_at(const Lab& lab, const Written& write) {
  Time until = write.at;
  for (auto step = lab.clock_steps.rbegin(); step != lab.clock_steps.rend(); ++step) {
    const Time stamped = write.record->updated_at - step->off;
    if (stamped >= step->at && stamped <= until) return stamped;
    until = std::min(until, step->at);
  }
  return write.at;
}

bool is_gone(const Record& completed, const std::optional<Record>& next) {
  if (!next) return true;
  if (next->response_version != completed.response_version) return false;
  return next->state != RecordState::completed;
}

void check_life(const Lab& lab, const RecordId& id, Violations& violations) {
  const auto& writes = lab.history.of(id);
  const Written* first = nullptr;  // that said so
  for (std::size_t i = 0; i + 1 < writes.size(); ++i) {
    const auto& record = writes[i].record;
    if (!record || record->state != RecordState::completed) {
      first = nullptr;
      continue;
    }
    if (!first) first = &writes[i];
    const Written& next = writes[i + 1];
    if (!is_gone(*record, next.record) || record->ttl_from_creation) continue;
    const Time from = stamped_at(lab, *first);
    const bool ran_through =
        std::ranges::none_of(lab.boots, [&](Time at) { return at >= from && at <= next.at; });
    if (!ran_through || next.at - from + tolerance(lab, from, next.at) >= record->ttl) continue;
    violations.push_back(fmt::format("{} expired after {} ms of {}", record->key,
                                     (next.at - from).count(), record->ttl.count()));
  }
}

}  // namespace

void check_expiry(const Lab& lab, Violations& violations) {
  if (!lab.scenario.exclusive) return;
  for (int key = 0; key < static_cast<int>(lab.scenario.keys.size()); ++key) {
    check_life(lab, lab.id_of(key), violations);
  }
}

}  // namespace semel::sim
