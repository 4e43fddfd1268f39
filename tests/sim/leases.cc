#include "sim/leases.h"

#include <fmt/format.h>

namespace semel::sim {

void Leases::began(const Record& claim, support::VirtualTime::Lane lane, const Clock& clock) {
  const auto [at, fresh] = beliefs_.insert_or_assign(claim.token, Belief{claim, lane, &clock});
  check(at->second);
}

void Leases::renewed(const Record& claim) {
  const auto found = beliefs_.find(claim.token);
  if (found == beliefs_.end()) return;
  found->second.claim.lease_until = claim.lease_until;
  check(found->second);
}

void Leases::died(support::VirtualTime::Lane lane) {
  std::erase_if(beliefs_, [&](const auto& entry) { return entry.second.lane == lane; });
}

void Leases::given_up(const Record& claim) {
  const auto found = beliefs_.find(claim.token);
  if (!calm_ || found == beliefs_.end()) return;
  const Record& held = found->second.claim;
  if (found->second.clock->now() - held.updated_at >= Scenario::kMaxExecution) return;
  violations_.push_back(
      fmt::format("{}: attempt {} was given up although it ran", held.key, held.attempt));
}

bool Leases::live(const Belief& belief) const {
  return exclusive_ || belief.clock->now() < belief.claim.lease_until;
}

void Leases::check(const Belief& belief) {
  for (const auto& [token, other] : beliefs_) {
    if (token == belief.claim.token || other.claim.id != belief.claim.id) continue;
    if (!live(belief) || !live(other)) continue;
    violations_.push_back(fmt::format(
        "two live leases: {} is held by attempt {} (token {}) and by attempt {} (token {})",
        belief.claim.key, other.claim.attempt, token.hex().substr(0, 6), belief.claim.attempt,
        belief.claim.token.hex().substr(0, 6)));
  }
}

boost::asio::awaitable<SwapResult> WatchedStore::swap(RecordId id, Version expected,
                                                      std::shared_ptr<Record> next) {
  SwapResult result = co_await inner().swap(id, expected, next);
  if (std::holds_alternative<swap::Applied>(result) && next &&
      next->state == RecordState::in_progress) {
    leases_.renewed(*next);
  }
  co_return result;
}

}  // namespace semel::sim
