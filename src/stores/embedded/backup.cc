// The promise: everything that was acknowledged before a backup began is in it, and a restored
// store is one that a crash at that moment would have left. Records that were in progress then
// belong to a run that is over, so the next start makes them unknown, as after any crash.
//
// Versions given out after the backup are given out again by a restored store. Nobody can mistake
// one for the other: versions do not leave the process that has the store open, and that process
// has ended. Tokens are random, so none is drawn twice.
#include "stores/embedded/backup.h"

#include <fmt/chrono.h>
#include <rocksdb/utilities/checkpoint.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "engine/process_identity.h"
#include "engine/system_clock.h"
#include "stores/embedded/db.h"
#include "stores/embedded/wal.h"

namespace semel::stores {
namespace {

namespace fs = std::filesystem;

// A checkpoint that never flushes: it copies the logs instead. A flush could fail for want of
// space, and that would stop the store.
constexpr std::uint64_t kNeverFlush = UINT64_MAX;
// Left free on the disk of a backup or a restored store.
constexpr std::uint64_t kBackupSpareBytes = 16 << 20;

bool is_on_same_disk(const fs::path& one, const fs::path& other) {
  struct stat first{};
  struct stat second{};
  return ::stat(one.c_str(), &first) == 0 && ::stat(other.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev;
}

bool is_inside(const fs::path& path, const fs::path& folder) {
  const auto [in_folder, in_path] = std::ranges::mismatch(folder, path);
  return in_folder == folder.end();
}

std::expected<void, std::string> check_target(const fs::path& store, const fs::path& to) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(to, error))) {
    return std::unexpected(to.string() + ": exists already; name a folder that does not");
  }
  const fs::path parent = fs::canonical(to.parent_path(), error);
  if (error || !fs::is_directory(parent)) {
    return std::unexpected(to.string() + ": its parent is not a folder that can be used; make it");
  }
  const fs::path data = fs::canonical(store, error);
  if (error || is_inside(parent / to.filename(), data)) {
    return std::unexpected(to.string() + ": is inside the data folder; name one outside of it");
  }
  return {};
}

// Tables are linked where they can be; everything else is copied.
std::expected<void, std::string> check_room(const fs::path& store, const fs::path& parent,
                                            std::uint64_t free_bytes_min) {
  const auto files = list_files(store);
  if (!files) return std::unexpected(files.error());
  const bool links = is_on_same_disk(store, parent);
  std::uint64_t needed = links ? std::max(free_bytes_min, kBackupSpareBytes) : kBackupSpareBytes;
  for (const StoreFile& file : *files) {
    if (is_database_file(file.name) && !(links && is_table_name(file.name))) needed += file.bytes;
  }
  return expect_room(parent, needed);
}

std::expected<std::vector<StoreFile>, std::string> sum_all(const fs::path& folder,
                                                           const GiveUp& give_up) {
  auto files = list_files(folder);
  if (!files) return files;
  for (StoreFile& file : *files) {
    auto summed = sum_file(folder / file.name, give_up);
    if (!summed) return std::unexpected(std::move(summed).error());
    file = *std::move(summed);
  }
  return files;
}

// Removes the folder unless it is kept: half a backup helps nobody.
class Unfinished {
 public:
  explicit Unfinished(fs::path folder) : folder_(std::move(folder)) {}
  ~Unfinished() {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  void keep() { folder_.clear(); }

 private:
  fs::path folder_;
};

std::expected<void, std::string> make_checkpoint(rocksdb::DB& db, const fs::path& to) {
  rocksdb::Checkpoint* made = nullptr;
  rocksdb::Status status = rocksdb::Checkpoint::Create(&db, &made);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  if (status.ok()) status = checkpoint->CreateCheckpoint(to.string(), kNeverFlush);
  if (!status.ok()) return std::unexpected(to.string() + ": " + status.ToString());
  return {};
}

// A checkpoint leaves out a log with nothing in it. A store without any log is taken for damaged,
// so the empty log is made.
std::expected<void, std::string> keep_a_log(const fs::path& store, const fs::path& copy) {
  const auto has_log = [](const StoreFile& file) { return is_log_name(file.name); };
  const auto copied = list_files(copy);
  if (!copied) return std::unexpected(copied.error());
  if (std::ranges::any_of(*copied, has_log)) return {};
  const auto files = list_files(store);
  if (!files) return std::unexpected(files.error());
  const auto log = std::ranges::find_if(*files, has_log);
  if (log == files->end()) return std::unexpected(store.string() + ": its log is missing");
  return write_file(copy / log->name, "");
}

std::expected<void, std::string> check_empty(const fs::path& to) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(to, error);
  if (!fs::exists(status)) {
    if (fs::is_directory(to.parent_path(), error)) return {};
    return std::unexpected(to.string() + ": its parent is not a folder that can be used; make it");
  }
  if (!fs::is_directory(status)) return std::unexpected(to.string() + ": is not a folder");
  if (fs::is_empty(to, error) && !error) return {};
  return std::unexpected(to.string() +
                         ": is not empty; a backup is restored only to a new or an empty folder");
}

}  // namespace

std::expected<StoreBackup, std::string> EmbeddedDb::backup(const fs::path& wanted,
                                                           const GiveUp& give_up) {
  const fs::path to = whole_path(wanted);
  if (auto checked = check_target(path_, to); !checked) return std::unexpected(checked.error());
  const fs::path parent = to.parent_path();
  if (auto room = check_room(path_, parent, free_bytes_min_); !room) {
    return std::unexpected(room.error());
  }
  const Time began = engine::SystemClock().now();
  if (auto made = make_private_folder(to); !made) return std::unexpected(made.error());
  Unfinished unfinished(to);
  if (auto made = make_checkpoint(*db_, to / kBackupStore); !made) {
    return std::unexpected(made.error());
  }
  if (auto kept = keep_a_log(path_, to / kBackupStore); !kept) {
    return std::unexpected(kept.error());
  }
  auto files = sum_all(to / kBackupStore, give_up);
  if (!files) return std::unexpected(std::move(files).error());
  const BackupManifest manifest{
      .time = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                          std::chrono::time_point_cast<std::chrono::seconds>(began)),
      .node = engine::this_node().node,
      .files = *std::move(files)};
  if (auto synced = sync_folder(to / kBackupStore); !synced) {
    return std::unexpected(synced.error());
  }
  if (auto written = write_manifest(to, manifest); !written) {
    return std::unexpected(written.error());
  }
  if (auto synced = sync_folder(parent); !synced) return std::unexpected(synced.error());
  unfinished.keep();
  return manifest.total();
}

std::expected<StoreBackup, std::string> backup_closed_store(const EmbeddedOptions& options,
                                                            const fs::path& to) {
  std::error_code error;
  if (!fs::exists(options.path / "CURRENT", error)) {
    return std::unexpected("store " + options.path.string() + ": there is no store in this folder");
  }
  const auto db = EmbeddedDb::open(options);
  if (!db) return std::unexpected(db.error());
  return (*db)->backup(to, GiveUp(false));
}

std::expected<BackupManifest, std::string> restore_backup(const fs::path& from,
                                                          const fs::path& wanted) {
  const auto manifest = read_manifest(from);
  if (!manifest) return manifest;
  if (auto verified = verify_backup(from, *manifest); !verified) {
    return std::unexpected(verified.error());
  }
  const fs::path to = whole_path(wanted);
  if (auto checked = check_empty(to); !checked) return std::unexpected(checked.error());
  const fs::path parent = to.parent_path();
  if (auto room = expect_room(parent, manifest->total().bytes + kBackupSpareBytes); !room) {
    return std::unexpected(room.error());
  }
  const fs::path copy = to.string() + ".restoring";
  if (auto made = make_private_folder(copy); !made) return std::unexpected(made.error());
  Unfinished unfinished(copy);
  for (const StoreFile& file : manifest->files) {
    const auto copied = copy_file(from / kBackupStore / file.name, copy / file.name, GiveUp(false));
    if (!copied) return std::unexpected(copied.error());
    if (copied->sha256 != file.sha256) {
      return std::unexpected((from / kBackupStore / file.name).string() +
                             ": has changed since it was verified");
    }
  }
  if (auto synced = sync_folder(copy); !synced) return std::unexpected(synced.error());
  if (std::rename(copy.c_str(), to.c_str()) != 0) {
    return std::unexpected(to.string() + ": cannot be put in place: " + std::strerror(errno));
  }
  unfinished.keep();
  if (auto synced = sync_folder(parent); !synced) return std::unexpected(synced.error());
  return manifest;
}

}  // namespace semel::stores
