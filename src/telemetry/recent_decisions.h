#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "semel/driver/record.h"
#include "telemetry/metrics.h"

namespace semel::telemetry {

// How one keyed request was decided. Key and tenant are as they came: shorten them before anybody
// sees them.
struct RecentDecision {
  std::uint64_t seq = 0;  // counts all decisions of this process, from 1
  Time at{};
  std::string route;
  RequestResult result = RequestResult::refused;
  int status = 0;  // 0: no answer was sent
  std::string method;
  std::string key;
  std::string tenant;
  std::optional<RecordId> record;
  std::uint32_t attempt = 0;
  std::chrono::microseconds took{0};
  std::string peer;
  std::string trace;
};

// The latest decisions of this process. Thread-safe. An entry's memory is used again for the one
// that replaces it, so that adding one allocates nothing.
class RecentDecisions {
 public:
  static constexpr std::size_t kKept = 1000;
  // Longer texts are cut.
  static constexpr std::size_t kTextBytesMax = 1024;

  // Calls `fill` with the entry to be filled in.
  template <typename Fill>
  void add(Fill fill) {
    const std::lock_guard lock(mutex_);
    RecentDecision& entry = entries_[last_ % kKept];
    fill(entry);
    entry.seq = ++last_;
  }
  static void set(std::string& text, std::string_view value) {
    text.assign(value.substr(0, kTextBytesMax));
  }

  std::uint64_t last() const {
    const std::lock_guard lock(mutex_);
    return last_;
  }
  // Returns those after `seq`, oldest first, `count_max` at most: the latest of them.
  std::vector<RecentDecision> latest(std::uint64_t seq, std::size_t count_max) const {
    const std::lock_guard lock(mutex_);
    const std::uint64_t kept_max = std::min<std::uint64_t>({count_max, kKept, last_});
    std::vector<RecentDecision> found;
    for (std::uint64_t next = std::max(std::min(seq, last_), last_ - kept_max); next < last_;
         ++next) {
      found.push_back(entries_[next % kKept]);
    }
    return found;
  }

 private:
  mutable std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::vector<RecentDecision> entries_ = std::vector<RecentDecision>(kKept);
};

}  // namespace semel::telemetry
