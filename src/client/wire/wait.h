#pragma once

#include <chrono>

#include "semel/client.h"

namespace semel::client {

using SteadyPoint = std::chrono::steady_clock::time_point;

// What ends every wait: a time, and a request to stop.
struct Limits {
  SteadyPoint until;
  const Stop* stop = nullptr;
};

enum class Waited { ready, timeout, stopped };

// Waits until the descriptor has one of `events` (of poll()); -1: for the limits alone.
Waited wait_for(int descriptor, short events, const Limits& limits);

}  // namespace semel::client
