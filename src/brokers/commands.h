#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "base/wakeup.h"

namespace semel::brokers {

// Passes commands from other threads to one thread, which waits for `descriptor()` to become
// readable together with whatever else it waits for. put() never blocks for long.
template <typename Command>
class Commands {
 public:
  void put(Command command) {
    bool was_empty = false;
    {
      std::lock_guard lock(mutex_);
      was_empty = waiting_.empty();
      waiting_.push_back(std::move(command));
    }
    if (was_empty) wake();
  }
  void wake() { wakeup_.signal(); }
  // Returns all commands, in order. The descriptor is quiet until the next one comes.
  std::vector<Command> take() {
    wakeup_.clear();
    std::lock_guard lock(mutex_);
    return std::exchange(waiting_, {});
  }
  int descriptor() const { return wakeup_.descriptor(); }

 private:
  base::Wakeup wakeup_;
  std::mutex mutex_;
  std::vector<Command> waiting_;
};

}  // namespace semel::brokers
