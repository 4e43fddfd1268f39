#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "semel/clock.h"
#include "stores/redis/resp.h"

// What is known of a server that it is to be trusted with records. Pure.
namespace semel::redis {

// Two clocks that differ by more do not agree. A lease is believed in for a second longer than it
// lasts, and NTP keeps clocks far closer.
inline constexpr Duration kClocksAgreeWithin = std::chrono::seconds(2);

// Our clock, read twice at one moment.
struct Instant {
  Time wall{};
  SteadyTime steady{};
};

// Where a server's clock stands against our steady one, which nobody sets. By it a step of our own
// wall clock shows at once, and not only when the server is asked again.
class ServerClock {
 public:
  ServerClock() = default;
  // TIME gave `theirs`, somewhere between the two. What the round trip leaves open counts as equal.
  ServerClock(const Instant& asked, SteadyTime answered, Time theirs);

  // How far our wall clock is ahead of it; negative: behind.
  Duration ahead(const Instant& now) const {
    return now.wall.time_since_epoch() - now.steady.time_since_epoch() - apart_;
  }

 private:
  Duration apart_{};  // its time less our steady time
};

// nullopt: not what TIME replies.
std::optional<Time> time_of(const net::RespReply& reply);

// A field of what INFO replies; empty: it is not there.
std::string_view info_field(std::string_view info, std::string_view name);

// "3 days": rounded, and without a sign.
std::string in_words(Duration length);

}  // namespace semel::redis
