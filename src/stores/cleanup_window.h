#pragma once

#include <chrono>
#include <expected>
#include <string>
#include <string_view>

#include "semel/driver/record.h"
#include "semel/time.h"

namespace semel::stores {

// The hours of each day, by the local time of this machine, in which expired records are removed.
// A window that begins later than it ends goes on after midnight.
struct CleanupWindow {
  std::chrono::minutes from{0};  // since midnight
  std::chrono::minutes to{0};    // the first minute that is no longer in it

  bool contains(Time now) const;
  bool operator==(const CleanupWindow&) const = default;
};

// Returns whether the record is due for something else than its removal, at any hour: it waits to
// be executed, or is being executed.
bool is_work(const Record& record);

// Writes the window as parse_cleanup_window() reads it.
std::string to_string(const CleanupWindow& window);

// Parses "02:00-05:00". The error ends a sentence that begins with the value.
std::expected<CleanupWindow, std::string> parse_cleanup_window(std::string_view text);

}  // namespace semel::stores
