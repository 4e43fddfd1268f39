#pragma once

#include <atomic>
#include <mutex>

namespace semel::runtime {

// A file descriptor that is reserved for the moment when none are left. It is then given up to take
// a connection off the listener's queue, so that the client is told at once instead of waiting
// there. Thread-safe.
class SpareDescriptor {
 public:
  SpareDescriptor();
  ~SpareDescriptor();
  SpareDescriptor(const SpareDescriptor&) = delete;
  SpareDescriptor& operator=(const SpareDescriptor&) = delete;

  // Accepts a connection of this listener, which must be non-blocking, answers 503 if the
  // connection is plain text, and closes it. Returns false if there was no connection, or still no
  // descriptor.
  bool turn_away(int listener, bool is_plain);
  // Reserves a descriptor again if another thread has taken the spare one in the moment it was
  // free. Call when there are free descriptors.
  void regain();

 private:
  std::mutex mutex_;
  const int null_;  // the spare one is a duplicate of it
  std::atomic<int> spare_;
};

}  // namespace semel::runtime
