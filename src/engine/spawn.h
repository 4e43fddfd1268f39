#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <exception>
#include <functional>
#include <string>
#include <string_view>

// What runs in the background has no caller that could be told of an exception. It must not end
// without a word: a loop that is gone renews no lease, expires nothing, accepts nobody.
namespace semel {

// Who is told; until it is set, a line on standard error. To be set while nothing runs; called on
// any thread.
using TaskFailed = std::function<void(std::string_view task, std::string_view why)>;
void on_task_failed(TaskFailed told);

namespace detail {
void task_failed(std::string_view task, const std::exception_ptr& failed) noexcept;
}  // namespace detail

// For co_spawn() in the place of detached: what is thrown is reported. For work that ends by
// itself. `task` outlives it: a literal.
struct OrReport {
  std::string_view task;
  void operator()(const std::exception_ptr& failed) const noexcept {
    if (failed) detail::task_failed(task, failed);
  }
};

// The same for what the process cannot go on without and that cannot begin anew: it is reported,
// and the process ends as if it were killed, which every record survives.
struct OrStop {
  std::string_view task;
  void operator()(const std::exception_ptr& failed) const noexcept {
    if (!failed) return;
    detail::task_failed(task, failed);
    std::terminate();
  }
};

// Runs a loop that keeps nothing between its turns: what is thrown is reported, and after a pause
// it begins anew. `loop` is called on the executor, each time for a new run; it ends for good when
// it returns.
void spawn_loop(const boost::asio::any_io_executor& executor, std::string_view task,
                std::function<boost::asio::awaitable<void>()> loop);

}  // namespace semel
