#include "engine/executions.h"

#include <algorithm>

namespace semel::engine {
namespace {

// Renews a lease after a third of it, so that two more tries fit before it runs out.
Time next_renewal(Duration lease, SteadyTime renew_until, Time now, SteadyTime steady) {
  const Duration pause = lease / 3;
  return after(steady, pause) > renew_until ? kNever : after(now, pause);
}

}  // namespace

Executions::Execution* Executions::Shard::find(const RecordId& id, const Token& token) {
  const auto slot = slots.find(id);
  if (slot == slots.end()) return nullptr;
  const auto found = std::ranges::find(slot->second, token, &Execution::token);
  return found == slot->second.end() ? nullptr : &*found;
}

void Executions::enter(const RecordId& id, const Token& token) {
  Shard& shard = shard_of(id);
  std::lock_guard lock(shard.mutex);
  Execution execution;
  execution.token = token;
  shard.slots[id].push_back(std::move(execution));
}

bool Executions::enter_once(const RecordId& id, const Token& token) {
  Shard& shard = shard_of(id);
  std::lock_guard lock(shard.mutex);
  if (shard.find(id, token)) return false;
  Execution execution;
  execution.token = token;
  shard.slots[id].push_back(std::move(execution));
  return true;
}

void Executions::started(const EngineClaim& claim, Time now, SteadyTime steady) {
  Shard& shard = shard_of(claim.record->id);
  std::lock_guard lock(shard.mutex);
  Execution* execution = shard.find(claim.record->id, claim.record->token);
  if (!execution) return;
  execution->lease = claim.operation.lease;
  execution->started_at = now;
  execution->renew_until = after(steady, claim.operation.max_execution);
  execution->renew_at = next_renewal(execution->lease, execution->renew_until, now, steady);
}

bool Executions::has(const RecordId& id, const Token& token) const {
  const Shard& shard = shard_of(id);
  std::lock_guard lock(shard.mutex);
  const auto slot = shard.slots.find(id);
  return slot != shard.slots.end() &&
         std::ranges::find(slot->second, token, &Execution::token) != slot->second.end();
}

bool Executions::has_any(const RecordId& id) const {
  const Shard& shard = shard_of(id);
  std::lock_guard lock(shard.mutex);
  return shard.slots.contains(id);
}

void Executions::settle(const RecordId& id, const Token& token, const MakeSettled& make) {
  std::vector<Waiter> woken;
  Shard& shard = shard_of(id);
  {
    std::lock_guard lock(shard.mutex);
    Execution* execution = shard.find(id, token);
    if (!execution) return;
    execution->renew_at = kNever;
    woken.swap(execution->waiters);
  }
  wake(std::move(woken), make);
}

void Executions::leave(const RecordId& id, const Token& token, const MakeSettled& make) {
  std::vector<Waiter> woken;
  Shard& shard = shard_of(id);
  {
    std::lock_guard lock(shard.mutex);
    Execution* execution = shard.find(id, token);
    if (!execution) return;
    woken.swap(execution->waiters);
    Slot& slot = shard.slots[id];
    slot.erase(slot.begin() + (execution - slot.data()));
    if (slot.empty()) shard.slots.erase(id);
  }
  wake(std::move(woken), make);
}

void Executions::wake(std::vector<Waiter> woken, const MakeSettled& make) {
  if (woken.empty()) return;
  const auto settled = make ? make() : nullptr;
  for (auto& waiter : woken) {
    if (settled) {
      waiter.handler(settled);
    } else {
      waiter.handler(waited::LookAgain{});
    }
  }
}

void Executions::wait(const RecordId& id, const Token& token, SteadyTime deadline,
                      WaitHandler handler) {
  Shard& shard = shard_of(id);
  {
    std::lock_guard lock(shard.mutex);
    if (Execution* execution = shard.find(id, token)) {
      execution->waiters.push_back({deadline, std::move(handler)});
      return;
    }
  }
  handler(waited::LookAgain{});
}

void Executions::end_waits(SteadyTime now) {
  std::vector<Waiter> ended;
  for (Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    for (auto& [id, slot] : shard.slots) {
      for (auto& execution : slot) {
        const auto late = std::ranges::partition(
            execution.waiters, [&](const Waiter& waiter) { return waiter.deadline > now; });
        std::ranges::move(late, std::back_inserter(ended));
        execution.waiters.erase(late.begin(), late.end());
      }
    }
  }
  for (auto& waiter : ended) waiter.handler(waited::TimedOut{});
}

std::vector<Executions::Renewal> Executions::take_renewals(Time now, SteadyTime steady) {
  std::vector<Renewal> due;
  for (Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    for (auto& [id, slot] : shard.slots) {
      for (auto& execution : slot) {
        if (execution.renew_at > now) continue;
        due.push_back({id, execution.token, execution.lease});
        execution.renew_at = next_renewal(execution.lease, execution.renew_until, now, steady);
      }
    }
  }
  return due;
}

Engine::Running Executions::summary() const {
  Engine::Running sum;
  Time oldest = kNever;
  for (const Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    for (const auto& [id, slot] : shard.slots) {
      for (const auto& execution : slot) {
        sum.waiters += execution.waiters.size();
        if (execution.started_at == kNever) continue;
        ++sum.executions;
        oldest = std::min(oldest, execution.started_at);
      }
    }
  }
  if (sum.executions > 0) sum.oldest = oldest;
  return sum;
}

}  // namespace semel::engine
