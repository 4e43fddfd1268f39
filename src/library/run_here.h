#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <optional>

namespace semel::library {

// The event loop of a thread that blocks in a call.
class ThreadLoop {
 public:
  static ThreadLoop& of_this_thread();
  // Runs on the calling thread until `over` is set.
  void run_until(const bool& over);
  boost::asio::io_context& context() { return context_; }
  bool is_running() const { return running_; }

 private:
  boost::asio::io_context context_{1};
  bool running_ = false;
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
  ThreadLoop& loop = ThreadLoop::of_this_thread();
  if (!loop.is_running()) return run_on_loop(loop, std::move(work));
  ThreadLoop nested;  // called from a callback of a call on this thread
  return run_on_loop(nested, std::move(work));
}

}  // namespace semel::library
