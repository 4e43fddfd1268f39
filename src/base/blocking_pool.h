#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace semel::base {

// A few named threads for calls that block, so that no worker blocks. Any thread may call run().
// The destructor waits for the queued work.
class BlockingPool {
 public:
  // `name` is shown by debuggers and `top -H`; at most 15 characters.
  BlockingPool(std::string name, std::size_t threads);
  ~BlockingPool();

  // Runs `work` on a thread of the pool and resumes on the caller's executor.
  template <typename Work>
  boost::asio::awaitable<std::invoke_result_t<Work&>> run(Work work) {
    auto job = boost::asio::co_spawn(context_, call(std::move(work)), boost::asio::use_awaitable);
    co_return co_await std::move(job);
  }

 private:
  template <typename Work>
  static boost::asio::awaitable<std::invoke_result_t<Work&>> call(Work work) {
    co_return work();
  }

  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> open_;
  std::vector<std::jthread> threads_;
};

}  // namespace semel::base
