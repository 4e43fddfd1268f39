#pragma once

#include <rocksdb/db.h>
#include <rocksdb/listener.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "semel/driver/store.h"
#include "stores/embedded/directory.h"
#include "stores/embedded/files.h"
#include "stores/embedded/layout.h"
#include "stores/embedded/options.h"

namespace semel::stores {

template <std::size_t N>
rocksdb::Slice slice(const std::array<char, N>& bytes) {
  return {bytes.data(), N};
}

// A lower bound of the times in the due index. Without it every sweep would walk over the
// tombstones of all leases that ended since RocksDB last cleaned up.
class DueFloor {
 public:
  // begin() returns the floor. Until end(), one sweep reads the index from there on. Sweeps take
  // turns.
  Time begin();
  void end(Time earliest_seen);
  // An entry at `due` was committed. Afterwards begin() returns no later time.
  void lower_to(Time due);

 private:
  std::mutex mutex_;
  Time floor_ = Time::min();
  Time lowest_since_begin_ = kNever;
};

// Notices when RocksDB begins a new log, which it does with every memtable.
class LogSwitches final : public rocksdb::EventListener {
 public:
  void OnMemTableSealed(const rocksdb::MemTableInfo&) override { switched_ = true; }
  // Returns whether there was a new log since the last call.
  bool any() { return switched_.exchange(false); }

 private:
  std::atomic<bool> switched_ = false;
};

// The open database of an embedded store: its column families, the reads and the write. Any thread
// may read; only one at a time may write.
class EmbeddedDb {
 public:
  // The error is a sentence for the operator.
  static std::expected<std::unique_ptr<EmbeddedDb>, std::string> open(
      const EmbeddedOptions& options);
  ~EmbeddedDb();
  EmbeddedDb(const EmbeddedDb&) = delete;
  EmbeddedDb& operator=(const EmbeddedDb&) = delete;

  // How far a read may go. If `memory` is not enough the status is Incomplete.
  enum class Reach { memory, disk };
  std::expected<std::optional<Stored>, rocksdb::Status> get(
      const RecordId& id, Reach reach, const rocksdb::Snapshot* snapshot = nullptr) const;

  std::expected<std::optional<std::string>, rocksdb::Status> get_chunk(const RecordId& id,
                                                                       const Token& token,
                                                                       std::uint32_t index) const;
  // Adds the removal of all chunks of one attempt to `batch`.
  void delete_chunks(rocksdb::WriteBatch& batch, const RecordId& id, const Token& token) const;

  // OK: the batch is durable, as far as the options promise. Any other status: it is unknown
  // whether the batch was written.
  rocksdb::Status write(rocksdb::WriteBatch& batch);

  // Like Store::sweep() and Store::scan(). Block on the disk.
  StoreResult<std::vector<RecordPtr>> sweep(Time now, std::size_t limit);
  StoreResult<ScanPage> scan(const std::optional<RecordId>& after, std::size_t limit) const;
  DueFloor& due_floor() { return due_floor_; }

  // Like Store::backup(). May run while the others run. If `give_up` is set meanwhile, ends soon,
  // with an error; on another file system it copies every table first.
  std::expected<StoreBackup, std::string> backup(const std::filesystem::path& wanted,
                                                 const GiveUp& give_up);

  std::uint64_t count_unknown() const;
  // Returns the earliest entry in the index of unknown records that is not before `from`.
  std::optional<Time> first_unknown(Time from) const;

  rocksdb::ColumnFamilyHandle* meta() const { return families_[0]; }
  rocksdb::ColumnFamilyHandle* records() const { return families_[1]; }
  rocksdb::ColumnFamilyHandle* index() const { return families_[2]; }
  rocksdb::ColumnFamilyHandle* chunks() const { return families_[3]; }
  // No earlier run has given out this version or a later one.
  Version first_version() const { return first_version_; }

 private:
  EmbeddedDb(DirectoryLock lock, std::unique_ptr<rocksdb::DB> db,
             std::vector<rocksdb::ColumnFamilyHandle*> families,
             std::shared_ptr<LogSwitches> log_switches, const EmbeddedOptions& options);
  std::expected<void, std::string> check_format();
  std::expected<void, std::string> begin_format();
  std::expected<void, std::string> drop_orphans();

  DirectoryLock lock_;  // let go after the database is closed
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
  std::shared_ptr<LogSwitches> log_switches_;
  const std::filesystem::path path_;
  const std::uint64_t free_bytes_min_;
  const bool sync_;
  const std::optional<CleanupWindow> cleanup_;
  Version first_version_ = 1;
  std::mutex sweeping_;
  bool keeps_expired_ = false;  // the last sweep has passed by expired records
  DueFloor due_floor_;
};

// Decodes the whole record, which then belongs to the caller. The error names the record: one that
// does not decode is never taken for absent.
StoreResult<std::shared_ptr<Record>> decode_stored(const RecordId& id, const Stored& stored);
StoreUnavailable unreadable(const RecordId& id, const std::string& why);

}  // namespace semel::stores
