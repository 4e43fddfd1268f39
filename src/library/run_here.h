#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <memory>
#include <optional>

namespace semel::library {

// The event loop of a thread that blocks in a call.
class ThreadLoop {
 public:
  // Runs on the calling thread until `over` is set.
  void run_until(const bool& over);
  boost::asio::io_context& context() { return context_; }
  bool is_running() const { return running_; }

 private:
  boost::asio::io_context context_{1};
  bool running_ = false;
};

// Has a loop for as long as it lives. Loops are never destroyed, but used again by other threads:
// the thread that has woken a caller may let go of the caller's loop only after the caller has
// ended.
class LoopLease {
 public:
  LoopLease();
  ~LoopLease();
  LoopLease(const LoopLease&) = delete;
  LoopLease& operator=(const LoopLease&) = delete;
  ThreadLoop& loop() { return *loop_; }

 private:
  std::unique_ptr<ThreadLoop> loop_;
};

template <typename T>
T run_on_loop(ThreadLoop& loop, boost::asio::awaitable<T> work) {
  std::optional<T> result;
  std::exception_ptr failed;
  bool over = false;
  auto keep = [&result](boost::asio::awaitable<T> inner) -> boost::asio::awaitable<void> {
    result.emplace(co_await std::move(inner));
  };
  boost::asio::co_spawn(loop.context(), keep(std::move(work)), [&](const std::exception_ptr& why) {
    failed = why;
    over = true;
  });
  loop.run_until(over);
  if (failed) std::rethrow_exception(failed);
  return *std::move(result);
}

// Runs the work on the calling thread and returns its result, or throws what it threw. Costs no
// change of threads: the store's thread wakes this one.
template <typename T>
T run_here(boost::asio::awaitable<T> work) {
  thread_local LoopLease own;
  if (!own.loop().is_running()) return run_on_loop(own.loop(), std::move(work));
  LoopLease nested;  // called from a callback of a call on this thread
  return run_on_loop(nested.loop(), std::move(work));
}

}  // namespace semel::library
