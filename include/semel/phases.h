#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "semel/pg.h"

// Atomic phases: a long operation split into named steps. A *phase* is one transaction, which also
// moves the recovery point. A *call* to another service stands between phases and is made under a
// key derived from the record. The next runner, a retry or the completer, continues after the last
// recovery point.
//
//   const PhasedOperation create_order =
//       PhasedOperation("orders.create").phase("reserve", reserve).call("charge", charge)
//           .finish(answer);
//   const Result result = run(connection, create_order, {.key = key, .tenant = "shop"}, body);
//
// If a runner dies, the steps since the last recovery point are done again: phases were rolled
// back, calls repeat their key. So a call has one effect only if the called service deduplicates by
// the key, for as long as the operation may be resumed. A runner that was overtaken cannot commit a
// phase.
namespace semel::pg {

// The state that steps pass on to each other; stored with the recovery point. Values that a call
// puts in are stored by the phase that follows it.
using PhaseState = boost::json::object;

namespace detail {
struct Running;
}

class Step {
 public:
  explicit Step(detail::Running& running) : running_(&running) {}
  const RecordId& record() const;
  std::uint32_t attempt() const;
  std::string_view arguments() const;  // the request of the first attempt
  std::string derive(std::string_view label) const;

 protected:
  detail::Running* running_;
};

// Passed to a phase. Its transaction is open; the phase neither commits it nor rolls it back.
class Transaction : public Step {
 public:
  using Step::Step;
  PGconn* connection() const;
  Rows query(const std::string& statement, const std::vector<Value>& values = {}) const;
};

// Passed to a call to another service. No transaction is open.
class ForeignCall : public Step {
 public:
  ForeignCall(detail::Running& running, std::string name) : Step(running), name_(std::move(name)) {}
  // Returns the Idempotency-Key to send: the same in every attempt, derived from the step's name.
  std::string key() const { return derive(name_); }
  // Extends the lease, for calls that take longer than the lease. Throws Stale.
  void renew() const;

 private:
  std::string name_;
};

enum class Isolation { read_committed, serializable };

// The steps of an operation, in order. The names are stored in the database: while operations are
// unfinished, you may add a step after those that they have passed, but must not rename any.
// Steps are called on the thread that runs the operation, and on several threads at once for
// several keys.
class PhasedOperation {
 public:
  using Phase = std::function<void(Transaction&, PhaseState&)>;
  using CallStep = std::function<void(ForeignCall&, PhaseState&)>;
  using Finish = std::function<Answer(Transaction&, PhaseState&)>;

  // `rules` are those of the record: an empty rules.name means `name`, and rules.unknown is not
  // used, because a phased operation is resumed where it was left. These throw
  // std::invalid_argument if a name is empty or used twice.
  explicit PhasedOperation(std::string name, Operation rules = {});
  PhasedOperation& phase(std::string name, Phase work);
  PhasedOperation& call(std::string name, CallStep work);
  // The last phase: its answer completes the record.
  PhasedOperation& finish(Finish work);

  PhasedOperation& isolation(Isolation isolation);
  // Sets how long a runner may take from one step to the next before others may take over.
  PhasedOperation& lease(Duration lease);

  const std::string& name() const { return name_; }
  const Operation& rules() const { return rules_; }
  // Throws std::invalid_argument if finish() was not set.
  void require_finish() const;

 private:
  friend struct detail::Running;
  struct Named {
    std::string name;
    std::variant<Phase, CallStep> work;
  };

  PhasedOperation& add(std::string name, std::variant<Phase, CallStep> work);

  std::string name_;
  Operation rules_;
  std::vector<Named> steps_;
  Finish finish_;
  Isolation isolation_ = Isolation::read_committed;
};

// Runs the operation for a call, from its beginning or from where it was left, on a connection that
// is in no transaction. `arguments` is the request; it is stored, and a resumed operation sees the
// first one. An empty call.fingerprint means the digest of the arguments.
//
// If a step throws, its transaction is rolled back and the exception passes through. The operation
// is then resumed by the next retry, or by the completer after a while; if nothing had been done
// yet, the key is released instead.
Result run(PGconn* connection, const PhasedOperation& operation, const Call& call,
           std::string_view arguments);

// Runs the operation under a claim made by the gateway or by the completer (`semel complete`).
Result run(PGconn* connection, const PhasedOperation& operation, const Claim& claim,
           std::string_view arguments);

}  // namespace semel::pg
