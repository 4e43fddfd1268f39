#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "semel/claim.h"
#include "semel/driver/clock.h"

namespace semel::engine {

// Callers that wait for the end of a claim that no process of Semel executes. Thread-safe.
//
// Add a watch, look at the record, and only then wait: what happens in between is not missed.
class Watches {
 public:
  class Watch {
    friend class Watches;
    RecordId id_;
    SteadyTime deadline_;
    bool woken_ = false;
    std::move_only_function<void()> handler_;
  };
  using WatchPtr = std::shared_ptr<Watch>;

  WatchPtr add(const RecordId& id, SteadyTime deadline);
  // The handler is called exactly once, on any thread: at once, if the watch was woken already.
  void wait(const WatchPtr& watch, std::move_only_function<void()> handler);
  void remove(const WatchPtr& watch);

  // Wakes all who watch the record.
  void wake(const RecordId& id);
  // Wakes those whose deadline has passed.
  void end(SteadyTime now);
  std::size_t size() const { return size_; }

 private:
  using Handlers = std::vector<std::move_only_function<void()>>;
  static void wake_locked(Watch& watch, Handlers& woken);

  std::atomic<std::size_t> size_ = 0;  // nearly always 0: then no change of a record takes the lock
  std::mutex mutex_;
  std::unordered_map<RecordId, std::vector<WatchPtr>> watches_;
};

}  // namespace semel::engine
