#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "semel/pg.h"

// Atomic phases: a long operation as named steps. A *phase* is one transaction, which also moves
// the recovery point; a *call* to somebody else stands between phases and is made under a key
// derived from the record. Whoever comes next, a retry or the completer, goes on after the last
// recovery point.
//
// If a runner dies, its steps since the last recovery point are done again: phases were rolled
// back, calls repeat their key. So a call has one effect only with somebody who deduplicates by the
// key, for as long as the operation may be resumed. A runner that was overtaken cannot commit a
// phase.
namespace semel::pg {

// What the steps hand on to each other; kept with the recovery point. What a call puts in is kept
// by the phase that follows it.
using PhaseState = boost::json::object;

namespace detail {
struct Running;
}

class Step {
 public:
  explicit Step(detail::Running& running) : running_(&running) {}
  const RecordId& record() const;
  std::uint32_t attempt() const;
  std::string_view arguments() const;  // the request, as the first attempt brought it
  std::string derive(std::string_view label) const;

 protected:
  detail::Running* running_;
};

// A phase's view: its transaction is open, and is neither committed nor rolled back by the phase.
class Transaction : public Step {
 public:
  using Step::Step;
  PGconn* connection() const;
  Rows query(const std::string& statement, const std::vector<Value>& values = {}) const;
};

// A call's view: no transaction is open.
class Call : public Step {
 public:
  Call(detail::Running& running, std::string name) : Step(running), name_(std::move(name)) {}
  // The Idempotency-Key to send: the same for every attempt, derived from the step's name.
  std::string key() const { return derive(name_); }
  // Extends the lease. For calls that take longer than one. Throws Stale.
  void renew() const;

 private:
  std::string name_;
};

enum class Isolation { read_committed, serializable };

// The steps of an operation, in order. The names are written to the database: a step may be added
// after those that unfinished operations have passed, none may be renamed under them.
// Steps are called from whatever thread runs the operation, and by several at once for several
// keys.
class Operation {
 public:
  using Phase = std::function<void(Transaction&, PhaseState&)>;
  using ForeignCall = std::function<void(Call&, PhaseState&)>;
  using Finish = std::function<Answer(Transaction&, PhaseState&)>;

  // Throws std::invalid_argument where a name is empty or used twice.
  explicit Operation(std::string name);
  Operation& phase(std::string name, Phase work);
  Operation& call(std::string name, ForeignCall work);
  // The last phase: its answer completes the record.
  Operation& finish(Finish work);

  Operation& isolation(Isolation isolation);
  // How long a runner has from one step to the next before others may take over.
  Operation& lease(Duration lease);

  const std::string& name() const { return name_; }
  Duration lease() const { return lease_; }
  // Throws std::invalid_argument where the operation has none.
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

// Runs the operation for a key from its beginning or from where it was left, on a connection that
// is in no transaction. `arguments` is the request; it is kept, and a resumed operation sees the
// first one. The operation's name stands for an empty claim.operation, the arguments' digest for an
// empty fingerprint; its lease and its way of dealing with what was left behind (resuming it) are
// its own.
//
// If a step throws, its transaction is rolled back and the exception passes through. The operation
// is then resumed by the next retry, or by the completer after a while; if nothing was done yet,
// the key is released instead.
Result run(PGconn* connection, const Operation& operation, const Claim& claim,
           std::string_view arguments);

// The same under a claim that the gateway made, or the completer (`semel complete`).
Result run(PGconn* connection, const Operation& operation, const Handed& claim,
           std::string_view arguments);

}  // namespace semel::pg
