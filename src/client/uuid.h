#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "semel/time.h"

namespace semel::client {

using RandomBytes = std::array<std::uint8_t, 16>;

// UUIDs of RFC 9562. v4 has 122 random bits; v7 has the milliseconds of `now` first, then 74.
std::string uuid_v4(RandomBytes random);
std::string uuid_v7(RandomBytes random, Time now);

}  // namespace semel::client
