#include "client/clock.h"

namespace semel::client {

Time wall_now() {
  return std::chrono::floor<Duration>(std::chrono::system_clock::now());
}

}  // namespace semel::client
