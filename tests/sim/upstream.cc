#include "sim/upstream.h"

namespace semel::sim {
namespace {

Fate draw_fate(Random& random) {
  const int roll = random.below(100);
  if (roll < 50) return Fate::final;
  if (roll < 64) return Fate::retry;
  if (roll < 69) return Fate::auth;
  if (roll < 79) return Fate::refused;
  return Fate::silent;
}

// Mostly fast; sometimes longer than a lease, rarely longer than leases are renewed.
Duration draw_duration(Random& random) {
  const int roll = random.below(100);
  if (roll < 70) return random.ms(1, 150);
  if (roll < 85) return random.ms(150, 1500);
  if (roll < 97) return random.ms(2100, 6000);
  return random.ms(8000, 13000);
}

int status_of(Fate fate) {
  switch (fate) {
    case Fate::final:
      return 200;
    case Fate::retry:
      return 503;
    case Fate::auth:
      return 401;
    case Fate::refused:
      return 502;
    case Fate::silent:
      return 504;
  }
  return 0;
}

}  // namespace

Execution& Upstream::start(const EngineClaim& claim, Time now) {
  Execution execution;
  execution.id = claim.record->id;
  execution.token = claim.record->token;
  execution.attempt = claim.record->attempt;
  execution.started_at = now;
  execution.fate = draw_fate(random_);
  execution.takes = execution.fate == Fate::refused ? random_.ms(1, 20) : draw_duration(random_);
  if (random_.chance(600)) execution.late = random_.ms(10, 3000);
  execution.answer.status = status_of(execution.fate);
  execution.answer.body = "execution " + std::to_string(ledger_.size());
  ledger_.push_back(std::move(execution));
  return ledger_.back();
}

}  // namespace semel::sim
