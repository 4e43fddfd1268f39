#include "library/run_here.h"

namespace semel::library {

ThreadLoop& ThreadLoop::of_this_thread() {
  thread_local ThreadLoop loop;
  return loop;
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
