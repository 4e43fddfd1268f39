// The promise: requests of clients do not fill the embedded store's disk. A full disk would stop
// the store until it is opened again, and the outcomes of running keys would not be recorded.
#include "stores/disk_space.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdint>

namespace semel::stores {

DiskSpace::DiskSpace(const std::filesystem::path& directory, std::uint64_t free_bytes_min)
    : free_bytes_min_(free_bytes_min),
      directory_(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

DiskSpace::~DiskSpace() {
  if (directory_ >= 0) ::close(directory_);
}

std::optional<std::uint64_t> DiskSpace::free_bytes() const {
  struct statvfs status{};
  if (directory_ < 0 || ::fstatvfs(directory_, &status) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

bool DiskSpace::has_room_for(std::uint64_t bytes) const {
  if (free_bytes_min_ == 0) return true;
  // If the free space is not known, the write itself finds out.
  const std::uint64_t free = free_bytes().value_or(UINT64_MAX);
  return free >= free_bytes_min_ && free - free_bytes_min_ >= bytes;
}

bool DiskSpace::is_below(std::uint64_t part_of_mark) const {
  if (free_bytes_min_ == 0) return false;
  const Instant now = std::chrono::steady_clock::now();
  if (looked_at_.load(std::memory_order_acquire) + kLookEvery < now) {
    seen_bytes_.store(free_bytes().value_or(UINT64_MAX), std::memory_order_relaxed);
    looked_at_.store(now, std::memory_order_release);
  }
  return seen_bytes_.load(std::memory_order_relaxed) < free_bytes_min_ / part_of_mark;
}

std::string DiskSpace::describe() const {
  constexpr std::uint64_t kMebibyte = 1 << 20;
  return fmt::format("only {} MiB are free on its disk, and store.free_bytes_min keeps {} MiB free",
                     free_bytes().value_or(0) / kMebibyte, free_bytes_min_ / kMebibyte);
}

}  // namespace semel::stores
