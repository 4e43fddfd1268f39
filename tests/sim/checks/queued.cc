#include <fmt/format.h>

#include <algorithm>

#include "sim/checks/checks.h"

namespace semel::sim {
namespace {

bool follows(const Record& queued, const std::optional<Record>& next) {
  if (!next) return false;
  if (next->state == RecordState::queued)
    return next->token == queued.token && !next->request.empty();
  if (next->state == RecordState::in_progress) {
    return next->attempt == queued.attempt + 1 && next->request == queued.request &&
           next->fingerprint == queued.fingerprint;
  }
  return next->reason_code == ReasonCode::operator_decision;
}

void check_key(const Lab& lab, const RecordId& id, Violations& violations) {
  const auto& writes = lab.history.of(id);
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const auto& record = writes[i].record;
    if (!record || record->state != RecordState::queued) continue;
    if (record->request.empty()) {
      violations.push_back(fmt::format("{} was queued without its request", record->key));
    }
    if (i + 1 < writes.size() && !follows(*record, writes[i + 1].record)) {
      violations.push_back(fmt::format("{} was queued and then lost", record->key));
    }
  }
}

}  // namespace

void check_queued(const Lab& lab, Violations& violations) {
  for (int key = 0; key < static_cast<int>(lab.scenario.keys.size()); ++key) {
    check_key(lab, lab.id_of(key), violations);
  }
  for (const Accepted& accepted : lab.accepted) {
    const auto& writes = lab.history.of(accepted.id);
    const bool kept = std::ranges::any_of(writes, [&](const Written& write) {
      return write.record && write.record->token == accepted.token &&
             write.record->state == RecordState::queued;
    });
    if (!kept) violations.push_back("somebody was told of queued work that the store never had");
  }
  for (const auto& [id, record] : lab.store.records()) {
    if (record.state == RecordState::queued) {
      violations.push_back(fmt::format("{} was accepted and never begun", record.key));
    }
  }
}

}  // namespace semel::sim
