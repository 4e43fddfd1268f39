#pragma once

#include <chrono>
#include <cstddef>

namespace semel::stores {

// Swaps that were made durable together.
struct GroupCommit {
  std::size_t swaps = 0;
  std::chrono::nanoseconds longest_wait{};  // of the first swap, since it was asked for
};

}  // namespace semel::stores
