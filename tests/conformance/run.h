#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <optional>
#include <utility>

namespace semel::conformance {

// Runs `work` to its end, on an executor of its own.
template <typename T>
T run(boost::asio::awaitable<T> work) {
  boost::asio::io_context io;
  std::optional<T> result;
  boost::asio::co_spawn(io, std::move(work), [&](std::exception_ptr failed, T value) {
    if (failed) std::rethrow_exception(failed);
    result = std::move(value);
  });
  io.run();
  return *std::move(result);
}

}  // namespace semel::conformance
