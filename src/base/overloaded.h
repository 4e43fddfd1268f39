#pragma once

namespace semel::base {

// For std::visit: one function per alternative, so that a new alternative does not compile until it
// is handled.
template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};

}  // namespace semel::base
