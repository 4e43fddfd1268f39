#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace semel::stores {

// Compares the free space on a directory's file system with a mark below which nothing new is
// begun. Any thread may call.
class DiskSpace {
 public:
  // `free_bytes_min` is the mark; 0: space is never low.
  DiskSpace(const std::filesystem::path& directory, std::uint64_t free_bytes_min);
  ~DiskSpace();
  DiskSpace(const DiskSpace&) = delete;
  DiskSpace& operator=(const DiskSpace&) = delete;

  // Returns the bytes that are free for this user; nullopt: not known, for example because there is
  // no such directory.
  std::optional<std::uint64_t> free_bytes() const;
  std::uint64_t free_bytes_min() const { return free_bytes_min_; }

  // Returns whether the mark is still free after this many more bytes are written.
  bool has_room_for(std::uint64_t bytes) const;
  // Returns whether free space is below the mark. For hot paths: may be out of date by kLookEvery.
  bool is_low() const { return is_below(1); }
  // Returns whether free space is below half of the mark.
  bool is_very_low() const { return is_below(2); }
  // Describes the free space and the mark for the operator.
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

}  // namespace semel::stores
