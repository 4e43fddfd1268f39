#include "library/run_here.h"

#include <mutex>
#include <vector>

namespace semel::library {

namespace {

struct FreeLoops {
  std::mutex mutex;
  std::vector<std::unique_ptr<ThreadLoop>> loops;
};

// Outlives every thread, also those that end after main().
FreeLoops& free_loops() {
  static FreeLoops& all = *new FreeLoops;
  return all;
}

}  // namespace

LoopLease::LoopLease() {
  FreeLoops& free = free_loops();
  {
    const std::lock_guard lock(free.mutex);
    if (!free.loops.empty()) {
      loop_ = std::move(free.loops.back());
      free.loops.pop_back();
    }
  }
  if (!loop_) loop_ = std::make_unique<ThreadLoop>();
}

LoopLease::~LoopLease() {
  FreeLoops& free = free_loops();
  const std::lock_guard lock(free.mutex);
  free.loops.push_back(std::move(loop_));
}

void ThreadLoop::run_until(const bool& over) {
  running_ = true;
  context_.restart();
  try {
    while (!over) context_.run_one();
  } catch (...) {
    running_ = false;
    throw;
  }
  running_ = false;
}

}  // namespace semel::library
