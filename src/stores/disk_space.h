#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace semel {

// How much is free on the file system of a directory, held against a mark below which nothing new
// is begun. Any thread may call.
class DiskSpace {
 public:
  // 0: it is never low.
  DiskSpace(const std::filesystem::path& directory, std::uint64_t free_bytes_min);
  ~DiskSpace();
  DiskSpace(const DiskSpace&) = delete;
  DiskSpace& operator=(const DiskSpace&) = delete;

  // For this user; nullopt: it cannot be told, for instance since there is no such directory.
  std::optional<std::uint64_t> free_bytes() const;
  std::uint64_t free_bytes_min() const { return free_bytes_min_; }

  // Whether the mark is still free once so many bytes more are written.
  bool has_room_for(std::uint64_t bytes) const;
  // The same for next to nothing. For hot paths: it may be out of date by kLookEvery.
  bool is_low() const { return is_below(1); }
  // Half of what the mark keeps free is used up.
  bool is_very_low() const { return is_below(2); }
  // For the operator: what is free, and what the mark is.
  std::string describe() const;

 private:
  using Instant = std::chrono::steady_clock::time_point;
  static constexpr auto kLookEvery = std::chrono::milliseconds(20);

  bool is_below(std::uint64_t part_of_mark) const;

  const std::uint64_t free_bytes_min_;
  int directory_ = -1;
  mutable std::atomic<Instant> looked_at_{Instant::min()};
  mutable std::atomic<std::uint64_t> seen_bytes_ = 0;
};

}  // namespace semel
