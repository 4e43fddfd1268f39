#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <exception>
#include <functional>
#include <string>
#include <string_view>

// Background work has no caller that could be told of an exception. It must not end silently: a
// loop that is gone renews no lease, expires nothing, accepts nobody.
namespace semel::engine {

// Sets who is told; by default, a line is written to standard error. Set it while nothing runs; it
// is called on any thread.
using TaskFailed = std::function<void(std::string_view task, std::string_view why)>;
void on_task_failed(TaskFailed told);

namespace detail {
void task_failed(std::string_view task, const std::exception_ptr& failed) noexcept;
}  // namespace detail

// For co_spawn() in place of detached: reports exceptions. For work that ends by itself. `task`
// must outlive the work: use a literal.
struct OrReport {
  std::string_view task;
  void operator()(const std::exception_ptr& failed) const noexcept {
    if (failed) detail::task_failed(task, failed);
  }
};

// For work that the process cannot do without and that cannot begin again: reports an exception and
// ends the process as if it were killed, which every record survives.
struct OrStop {
  std::string_view task;
  void operator()(const std::exception_ptr& failed) const noexcept {
    if (!failed) return;
    detail::task_failed(task, failed);
    std::terminate();
  }
};

// Runs a loop that keeps no state between its turns. Reports an exception, and begins again after a
// pause. Calls `loop` on the executor, once per run; ends for good when the loop returns.
void spawn_loop(const boost::asio::any_io_executor& executor, std::string_view task,
                std::function<boost::asio::awaitable<void>()> loop);

}  // namespace semel::engine
