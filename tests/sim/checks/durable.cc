#include <fmt/format.h>

#include <algorithm>

#include "sim/checks/checks.h"

namespace semel::sim {
namespace {

// Once completed, a record says the same until its life ends; only a tombstone may follow.
bool stayed(const Lab& lab, const Answered& given, const Written& source) {
  return std::ranges::all_of(lab.history.of(given.id), [&](const Written& write) {
    if (!write.record || write.life != source.life || write.at < source.at) return true;
    if (write.record->version < given.version || write.record->state == RecordState::tombstone) {
      return true;
    }
    return write.record->state == RecordState::completed && write.record->answer == given.answer;
  });
}

}  // namespace

void check_durable(const Lab& lab, Violations& violations) {
  for (const Answered& given : lab.answers) {
    const Written* source = lab.history.find(given.id, given.version);
    if (!source || source->record->state != RecordState::completed ||
        source->record->answer != given.answer) {
      violations.push_back(fmt::format("a {} was told \"{}\", which the store never had", given.how,
                                       given.answer.body));
      continue;
    }
    if (!stayed(lab, given, *source)) {
      violations.push_back(fmt::format("{}: a {} was told \"{}\", which was overwritten",
                                       source->record->key, given.how, given.answer.body));
    }
    const LifeEnd end = lab.history.end_of(given.id, source->life);
    if (end == LifeEnd::wrong || end == LifeEnd::forgotten) {
      violations.push_back(fmt::format("{}: a {} was told \"{}\", which was lost",
                                       source->record->key, given.how, given.answer.body));
    }
  }
}

}  // namespace semel::sim
