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
//   const Operation create_order =
//       Operation("orders.create").phase("reserve", reserve).call("charge", charge).finish(answer);
//   const Result result = run(connection, create_order, {.tenant = "shop", .key = key}, body);
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

// Passed to a call. No transaction is open.
class Call : public Step {
 public:
  Call(detail::Running& running, std::string name) : Step(running), name_(std::move(name)) {}
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
class Operation {
 public:
  using Phase = std::function<void(Transaction&, PhaseState&)>;
  using ForeignCall = std::function<void(Call&, PhaseState&)>;
  using Finish = std::function<Answer(Transaction&, PhaseState&)>;

  // These throw std::invalid_argument if a name is empty or used twice.
  explicit Operation(std::string name);
  Operation& phase(std::string name, Phase work);
  Operation& call(std::string name, ForeignCall work);
  // The last phase: its answer completes the record.
  Operation& finish(Finish work);

  Operation& isolation(Isolation isolation);
  // Sets how long a runner may take from one step to the next before others may take over.
  Operation& lease(Duration lease);

  const std::string& name() const { return name_; }
  Duration lease() const { return lease_; }
  // Throws std::invalid_argument if finish() was not set.
  void require_finish() const;

 private:
  friend struct detail::Running;
  struct Named {
    std::string name;
    std::variant<Phase, ForeignCall> work;
  };

  Operation& add(std::string name, std::variant<Phase, ForeignCall> work);

  std::string name_;
  std::vector<Named> steps_;
  Finish finish_;
  Isolation isolation_ = Isolation::read_committed;
  Duration lease_ = std::chrono::seconds(30);
};

// Runs the operation for a key, from its beginning or from where it was left, on a connection that
// is in no transaction. `arguments` is the request; it is stored, and a resumed operation sees the
// first one. An empty claim.operation means the operation's name, an empty claim.fingerprint the
// digest of the arguments. claim.lease and claim.unknown are not used: the operation has its own
// lease, and resumes what was left behind.
//
// If a step throws, its transaction is rolled back and the exception passes through. The operation
// is then resumed by the next retry, or by the completer after a while; if nothing had been done
// yet, the key is released instead.
Result run(PGconn* connection, const Operation& operation, const Claim& claim,
           std::string_view arguments);

// Runs the operation under a claim made by the gateway or by the completer (`semel complete`).
Result run(PGconn* connection, const Operation& operation, const Handed& claim,
           std::string_view arguments);

}  // namespace semel::pg
