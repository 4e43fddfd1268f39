#include "engine/spawn.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>
#include <utility>

namespace semel::engine {
namespace asio = boost::asio;

namespace {

// A task that fails at once, over and over, must fill neither the log nor the processor.
constexpr auto kBeginAnewAfter = std::chrono::seconds(1);

TaskFailed& told() {
  static TaskFailed failed = [](std::string_view task, std::string_view why) {
    std::fprintf(stderr, "semel: %.*s failed: %.*s\n", static_cast<int>(task.size()), task.data(),
                 static_cast<int>(why.size()), why.data());
  };
  return failed;
}

asio::awaitable<void> run_loop(std::string_view task, std::function<asio::awaitable<void>()> loop) {
  for (;;) {
    std::exception_ptr failed;
    try {
      co_await loop();
      co_return;
    } catch (...) {
      failed = std::current_exception();
    }
    detail::task_failed(task, failed);
    asio::steady_timer pause(co_await asio::this_coro::executor, kBeginAnewAfter);
    boost::system::error_code ignored;
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
}

}  // namespace

void on_task_failed(TaskFailed failed) {
  told() = std::move(failed);
}

void detail::task_failed(std::string_view task, const std::exception_ptr& failed) noexcept {
  try {
    try {
      std::rethrow_exception(failed);
    } catch (const std::exception& error) {
      told()(task, error.what());
    } catch (...) {
      told()(task, "something was thrown that is not a std::exception");
    }
  } catch (...) {
    std::fputs("semel: a background task failed, and so did its report\n", stderr);
  }
}

void spawn_loop(const asio::any_io_executor& executor, std::string_view task,
                std::function<asio::awaitable<void>()> loop) {
  asio::co_spawn(executor, run_loop(task, std::move(loop)), OrStop{task});
}

}  // namespace semel::engine
