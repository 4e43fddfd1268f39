#pragma once

#include <atomic>
#include <mutex>

namespace semel {

// A file descriptor that is kept for the moment when there are none left: it is given up to take a
// connection off the listener's queue, so that its client is told at once instead of waiting there.
// Thread-safe.
class SpareDescriptor {
 public:
  SpareDescriptor();
  ~SpareDescriptor();
  SpareDescriptor(const SpareDescriptor&) = delete;
  SpareDescriptor& operator=(const SpareDescriptor&) = delete;

  // Accepts a connection of this listener, which does not block, says 503 where that is plain text,
  // and closes it. False: there was none, or still no descriptor.
  bool turn_away(int listener, bool is_plain);
  // Another thread may have taken the number in the moment it was free. For when there are some.
  void regain();

 private:
  std::mutex mutex_;
  const int null_;  // what the spare one is a duplicate of
  std::atomic<int> spare_;
};

}  // namespace semel
