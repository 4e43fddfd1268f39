#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace semel::telemetry {

// Limits lines that repeat for as long as something is wrong: the first of a kind is written at
// once, then one every kEvery, which says how many were held back. Thread-safe.
class LogPace {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  // Returns how many lines of the kind were held back since the last one; nullopt: hold this one
  // back, too. Kinds must be few and known: they are kept for good.
  std::optional<std::uint64_t> take(std::string_view kind, Instant now) {
    std::lock_guard lock(mutex_);
    const auto found = kinds_.find(kind);
    if (found == kinds_.end()) {
      kinds_.emplace(kind, Kind{.next = now + kEvery});
      return 0;
    }
    Kind& seen = found->second;
    if (now < seen.next) {
      ++seen.held_back;
      return std::nullopt;
    }
    seen.next = now + kEvery;
    return std::exchange(seen.held_back, 0);
  }

  static constexpr auto kEvery = std::chrono::seconds(10);

 private:
  struct Kind {
    Instant next;
    std::uint64_t held_back = 0;
  };
  std::mutex mutex_;
  std::map<std::string, Kind, std::less<>> kinds_;
};

}  // namespace semel::telemetry
