#include "stores/embedded/directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "stores/embedded/wal.h"

namespace semel::stores {
namespace {

namespace fs = std::filesystem;

// RocksDB writes this one while it makes a database, and another one, with a higher number, each
// time it opens it.
constexpr std::string_view kFirstManifest = "MANIFEST-000001";

bool names_first_manifest(const fs::path& current) {
  std::string name;
  std::ifstream(current) >> name;
  return name == kFirstManifest;
}

}  // namespace

std::expected<bool, std::string> is_new_store(const fs::path& directory) {
  bool has_current = false;
  bool has_logs = false;
  bool has_tables = false;
  bool was_opened = false;
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (name == "CURRENT") has_current = true;
    if (is_log_name(name)) has_logs = true;
    if (name.ends_with(".sst")) has_tables = true;
    if (name.starts_with("MANIFEST-") && name != kFirstManifest) was_opened = true;
  }
  if (!has_logs && !has_tables && !was_opened) return true;
  // A refused start of an earlier release leaves this behind: the next one would delete the tables.
  if (has_tables && has_current && names_first_manifest(directory / "CURRENT")) {
    return std::unexpected("its file CURRENT names an empty database, and tables are there");
  }
  if (!has_current) return std::unexpected("its file CURRENT is missing");
  if (!has_logs) return std::unexpected("its write-ahead logs (*.log) are missing");
  return false;
}

std::expected<DirectoryLock, std::string> DirectoryLock::take(const fs::path& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    return std::unexpected(std::string("cannot be opened: ") + std::strerror(errno));
  }
  DirectoryLock lock(descriptor);
  // Some network file systems have no such lock; RocksDB's is left there.
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return std::unexpected("another semel has it open");
  }
  return lock;
}

DirectoryLock::DirectoryLock(DirectoryLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

DirectoryLock::~DirectoryLock() {
  if (descriptor_ < 0) return;
  ::flock(descriptor_, LOCK_UN);  // a child of this process may have the descriptor, too
  ::close(descriptor_);
}

}  // namespace semel::stores
