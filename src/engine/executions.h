#pragma once

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "semel/driver/engine.h"

namespace semel::engine {

// The executions of this process and their waiters. An execution in this table outranks any clock:
// nobody takes over its claim, however late it is.
//
// Thread-safe: workers share it, with one lock per shard. An execution is entered before its claim
// is written, so that whoever reads the claim from the store also finds it here.
class Executions {
 public:
  using WaitHandler = std::move_only_function<void(Waited)>;

  struct Renewal {
    RecordId id;
    Token token;
    Duration lease;
  };

  void enter(const RecordId& id, const Token& token);
  // Returns false if the execution was already in the table.
  bool enter_once(const RecordId& id, const Token& token);
  // The claim is written: its lease is renewed from now on.
  void started(const EngineClaim& claim, Time now, SteadyTime steady);
  bool has(const RecordId& id, const Token& token) const;
  bool has_any(const RecordId& id) const;
  // Makes the message to the waiters; called only if there are any.
  using MakeSettled = std::function<std::shared_ptr<const Settled>()>;
  // Wakes the waiters. The execution stays, because its answer may still come, but is not renewed
  // any more.
  void settle(const RecordId& id, const Token& token, const MakeSettled& make);
  // Removes the execution and wakes its waiters: with the result of `make`, or, if that is empty,
  // to look again.
  void leave(const RecordId& id, const Token& token, const MakeSettled& make = {});

  // Calls `handler` exactly once, possibly at once, on any thread.
  void wait(const RecordId& id, const Token& token, SteadyTime deadline, WaitHandler handler);
  void end_waits(SteadyTime now);

  // Returns the executions whose lease must be renewed now. Leases and their renewals go by `now`;
  // the limit on renewing (max_execution) goes by `steady`.
  std::vector<Renewal> take_renewals(Time now, SteadyTime steady);
  Engine::Running summary() const;

 private:
  struct Waiter {
    SteadyTime deadline;
    WaitHandler handler;
  };
  struct Execution {
    Token token;
    Duration lease{};
    Time started_at = kNever;  // kNever: its claim is not written yet
    SteadyTime renew_until = kSteadyNever;
    Time renew_at = kNever;
    std::vector<Waiter> waiters;
  };
  using Slot = std::vector<Execution>;  // nearly always one
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<RecordId, Slot> slots;

    Execution* find(const RecordId& id, const Token& token);
  };

  static constexpr std::size_t kShards = 64;
  Shard& shard_of(const RecordId& id) { return shards_[id.bytes[31] % kShards]; }
  const Shard& shard_of(const RecordId& id) const { return shards_[id.bytes[31] % kShards]; }

  static void wake(std::vector<Waiter> woken, const MakeSettled& make);

  std::array<Shard, kShards> shards_;
};

}  // namespace semel::engine
