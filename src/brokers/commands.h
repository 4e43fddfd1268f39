#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

namespace semel {

// What a thread is asked to do by others. It waits for `descriptor()` to become readable, together
// with whatever else it waits for. put() never blocks for long.
template <typename Command>
class Commands {
 public:
  Commands() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (descriptor_ < 0) throw std::runtime_error("no event descriptor to be had");
  }
  ~Commands() { close(descriptor_); }
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  void put(Command command) {
    bool was_empty = false;
    {
      std::lock_guard lock(mutex_);
      was_empty = waiting_.empty();
      waiting_.push_back(std::move(command));
    }
    if (was_empty) wake();
  }
  void wake() {
    const std::uint64_t one = 1;
    // It can only fail when the counter is full, and then the descriptor is readable anyway.
    [[maybe_unused]] const ssize_t written = write(descriptor_, &one, sizeof one);
  }
  // All of them, in order; the descriptor is quiet until the next one comes.
  std::vector<Command> take() {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = read(descriptor_, &count, sizeof count);
    std::lock_guard lock(mutex_);
    return std::exchange(waiting_, {});
  }
  int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
  std::mutex mutex_;
  std::vector<Command> waiting_;
};

}  // namespace semel
