#pragma once

namespace semel::base {

// Wakes a thread that sleeps in poll() on descriptor(). Any thread may call signal().
class Wakeup {
 public:
  Wakeup();
  ~Wakeup();
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

  void signal();
  // Discards the signals so far.
  void clear();
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace semel::base
