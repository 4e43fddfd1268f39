#include "sim/history.h"

#include <algorithm>

namespace semel::sim {
namespace {

// A record that was never executed has not ended: its first execution belongs to the same life.
bool begins_a_life(const Record& before, const Record& next) {
  const bool waits = before.state == RecordState::queued || before.state == RecordState::released;
  if (next.token == before.token || (waits && before.attempt == 0)) return false;
  return next.attempt == 0 || (next.state == RecordState::in_progress && next.attempt == 1);
}

LifeEnd how_it_ended(const Record& before, const Record* next, Time latest_reading) {
  const bool can_expire = before.state == RecordState::completed ||
                          before.state == RecordState::released ||
                          before.state == RecordState::tombstone;
  if (can_expire && before.tombstone_until <= latest_reading) return LifeEnd::expired;
  if (next && before.state == RecordState::completed &&
      next->response_version != before.response_version) {
    return LifeEnd::superseded;
  }
  const bool claim_held =
      before.state == RecordState::in_progress || before.state == RecordState::unknown;
  return !next && claim_held ? LifeEnd::forgotten : LifeEnd::wrong;
}

}  // namespace

void History::wrote(const std::optional<Record>& before, const Record* next, Time now,
                    Time latest_reading) {
  Chronicle& chronicle = chronicles_[before ? before->id : next->id];
  const bool ends_life = before && (!next || begins_a_life(*before, *next));
  if (ends_life) chronicle.ends[chronicle.life] = how_it_ended(*before, next, latest_reading);
  if (next && (!before || begins_a_life(*before, *next))) ++chronicle.life;
  chronicle.writes.push_back(
      {now, chronicle.life, ends_life, next ? std::optional(*next) : std::optional<Record>()});
}

void History::taken_back(const RecordId& id) {
  Chronicle& chronicle = chronicles_[id];
  const bool ended_life = chronicle.writes.back().ends_life;
  chronicle.writes.pop_back();
  chronicle.life = chronicle.writes.empty() ? 0 : chronicle.writes.back().life;
  if (ended_life) chronicle.ends.erase(chronicle.life);
}

const std::vector<Written>& History::of(const RecordId& id) const {
  static const std::vector<Written> kNone;
  const auto found = chronicles_.find(id);
  return found == chronicles_.end() ? kNone : found->second.writes;
}

const Written* History::find(const RecordId& id, Version version) const {
  const auto& writes = of(id);
  const auto found = std::ranges::find_if(
      writes, [&](const Written& w) { return w.record && w.record->version == version; });
  return found == writes.end() ? nullptr : &*found;
}

const Written* History::claim_of(const RecordId& id, const Token& token) const {
  const auto& writes = of(id);
  const auto found = std::ranges::find_if(
      writes, [&](const Written& w) { return w.record && w.record->token == token; });
  return found == writes.end() ? nullptr : &*found;
}

LifeEnd History::end_of(const RecordId& id, int life) const {
  const auto chronicle = chronicles_.find(id);
  if (chronicle == chronicles_.end()) return LifeEnd::goes_on;
  const auto found = chronicle->second.ends.find(life);
  return found == chronicle->second.ends.end() ? LifeEnd::goes_on : found->second;
}

}  // namespace semel::sim
