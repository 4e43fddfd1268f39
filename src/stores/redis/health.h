#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "semel/driver/clock.h"
#include "stores/redis/resp/resp.h"

// Tells whether a server can be trusted with records: its clock and its settings. Pure.
namespace semel::stores::redis {

// Two clocks that differ by more than this do not agree. A lease is respected for a second longer
// than it lasts, and NTP keeps clocks far closer.
inline constexpr Duration kClocksAgreeWithin = std::chrono::seconds(2);

// Our wall clock and our steady clock, read at one moment.
struct Instant {
  Time wall{};
  SteadyTime steady{};
};

// The offset of a server's clock from our steady clock, which nobody sets. So a step of our own
// wall clock shows at once, and not only when the server is asked again.
class ServerClock {
 public:
  ServerClock() = default;
  // TIME returned `theirs`, read at some moment between `asked` and `answered`. A difference within
  // the round trip counts as none.
  ServerClock(const Instant& asked, SteadyTime answered, Time theirs);

  // Returns how far our wall clock is ahead of the server's; negative: behind.
  Duration ahead(const Instant& now) const {
    return now.wall.time_since_epoch() - now.steady.time_since_epoch() - apart_;
  }

 private:
  Duration apart_{};  // the server's time less our steady time
};

// Parses the reply to TIME; nullopt: it is something else.
std::optional<Time> time_of(const resp::RespReply& reply);

// Returns a field of the reply to INFO; empty: it is not there.
std::string_view info_field(std::string_view info, std::string_view name);

// "3 days": rounded, and without a sign.
std::string in_words(Duration length);

}  // namespace semel::stores::redis
