#pragma once

#include <deque>
#include <optional>

#include "semel/driver/engine.h"
#include "sim/random.h"

namespace semel::sim {

// The executor's response to a request.
enum class Fate {
  final,    // does it and says so
  retry,    // 503, nothing done
  auth,     // 401, nothing done
  refused,  // provably not delivered
  silent,   // does it, and no answer comes in time
};

struct Execution {
  RecordId id;
  Token token;
  std::uint32_t attempt = 0;
  Time started_at{};
  Fate fate = Fate::final;
  Duration takes{};
  std::optional<Duration> late;  // silent: when its answer comes after all
  Answer answer;
  bool dropped = false;  // whoever executed it was unwound before he said how it ended
  // When the engine was told that the executor had done nothing. Nobody else can know.
  std::optional<Time> reported_harmless_at;
};

// The service behind the gateway: it does what it is sent and keeps a ledger. It does not know what
// a key is, so only its ledger tells whether something was done twice.
class Upstream {
 public:
  explicit Upstream(std::uint64_t seed) : random_(seed) {}

  Execution& start(const EngineClaim& claim, Time now);
  const std::deque<Execution>& ledger() const { return ledger_; }

 private:
  Random random_;
  std::deque<Execution> ledger_;
};

}  // namespace semel::sim
