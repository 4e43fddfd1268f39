// Opens the embedded store's database. The promise: everything that an earlier run acknowledged is
// there, or the store does not open. If this were broken, keys that were answered would be executed
// again.
#include <fcntl.h>
#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/codec.h"
#include "stores/disk_space.h"
#include "stores/embedded/db.h"
#include "stores/embedded/directory.h"
#include "stores/embedded/wal.h"

namespace semel::stores {
namespace {

namespace fs = std::filesystem;
using rocksdb::Status;
using rocksdb::WALRecoveryMode;

constexpr std::size_t kRecordsMemtableBytes = 32 << 20;
constexpr std::size_t kIndexMemtableBytes = 16 << 20;
constexpr std::size_t kMetaMemtableBytes = 1 << 20;
constexpr std::size_t kChunksMemtableBytes = 16 << 20;
constexpr std::size_t kCacheBytes = 64 << 20;
constexpr std::size_t kWalBytesMax = 192 << 20;
constexpr std::size_t kInfoLogBytesMax = 1 << 20;
constexpr std::size_t kInfoLogsKept = 3;
constexpr std::size_t kSmoothWriteBytes = 1 << 20;
constexpr int kFilesOpenMax = 256;
constexpr double kBloomBitsPerKey = 10;
constexpr double kMemtableBloomShare = 0.01;
constexpr std::size_t kIndexHintBytes = 6;  // the index and the time in steps of 4.7 hours

constexpr mode_t kForOthers = S_IRWXG | S_IRWXO;
constexpr fs::perms kOwnerOnly = fs::perms::owner_read | fs::perms::owner_write;

std::unexpected<std::string> refuse(const fs::path& path, const std::string& why) {
  return std::unexpected("store " + path.string() + ": " + why);
}

std::string errno_text() {
  return std::strerror(errno);
}

// Makes the directory and its missing parents. Syncs each into its parent: otherwise it can be gone
// after a power cut, store and all.
std::expected<void, std::string> make_directory(const fs::path& path) {
  const fs::path parent = path.parent_path();
  std::error_code ignored;
  if (!fs::exists(parent, ignored)) {
    if (auto made = make_directory(parent); !made) return made;
  }
  if (mkdir(path.c_str(), S_IRWXU) != 0) {
    return refuse(path, "cannot create the directory: " + errno_text());
  }
  const int descriptor = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return refuse(path, "cannot open its parent: " + errno_text());
  const int synced = fsync(descriptor);
  const std::string why = synced == 0 ? "" : errno_text();
  close(descriptor);
  if (synced != 0) return refuse(path, "cannot sync its parent: " + why);
  return {};
}

// Closes the directory to other users: anyone who may enter it can read every recorded answer or
// replace the files. Files made by an earlier version may be open to others, too.
std::expected<void, std::string> close_to_others(const EmbeddedOptions& options) {
  const fs::path& path = options.path;
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return refuse(path, errno_text());
  if (status.st_uid != geteuid()) {
    return refuse(path, "belongs to another user; chown it to the user that semel runs as");
  }
  if ((status.st_mode & kForOthers) == 0) return {};
  if (chmod(path.c_str(), S_IRWXU) != 0) {
    return refuse(path, "other users can enter it, and chmod 700 failed: " + errno_text());
  }
  if (options.warn) {
    options.warn("store " + path.string() +
                 ": other users could enter it; closed it to them (chmod 700)");
  }
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(path, failed)) {
    if (!entry.is_regular_file(failed) || entry.is_symlink(failed)) continue;
    fs::permissions(entry.path(), kOwnerOnly, failed);
  }
  return {};
}

std::expected<void, std::string> prepare_directory(const EmbeddedOptions& options) {
  const fs::path& path = options.path;
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (status.type() == fs::file_type::not_found) {
    const fs::path whole = fs::absolute(path).lexically_normal();
    return make_directory(whole.has_filename() ? whole : whole.parent_path());
  }
  if (failed) return refuse(path, failed.message());
  if (!fs::is_directory(status)) return refuse(path, "is not a directory");
  if (access(path.c_str(), R_OK | W_OK | X_OK) != 0) {
    return refuse(path, "is not writable: " + errno_text());
  }
  return close_to_others(options);
}

rocksdb::CompressionType light_compression() {
  const auto supported = rocksdb::GetSupportedCompressions();
  return std::ranges::count(supported, rocksdb::kLZ4Compression) > 0 ? rocksdb::kLZ4Compression
                                                                     : rocksdb::kNoCompression;
}

rocksdb::ColumnFamilyOptions family_options(std::size_t memtable_bytes,
                                            rocksdb::BlockBasedTableOptions table) {
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size = memtable_bytes;
  options.compression = light_compression();
  options.level_compaction_dynamic_level_bytes = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

// In the order of EmbeddedDb::meta(), records(), index(), chunks().
std::vector<rocksdb::ColumnFamilyDescriptor> families() {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(kCacheBytes);
  // Filters and indexes live in the cache too, so that memory has one bound however large the store
  // grows.
  table.cache_index_and_filter_blocks = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  rocksdb::BlockBasedTableOptions filtered = table;
  filtered.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kBloomBitsPerKey));

  // Most swaps ask for a key that was never there: the filters answer them.
  rocksdb::ColumnFamilyOptions records = family_options(kRecordsMemtableBytes, filtered);
  records.memtable_whole_key_filtering = true;
  records.memtable_prefix_bloom_size_ratio = kMemtableBloomShare;

  // Entries arrive in time order: leases in one place, ends of ttl in another.
  rocksdb::ColumnFamilyOptions index = family_options(kIndexMemtableBytes, table);
  index.memtable_insert_with_hint_prefix_extractor.reset(
      rocksdb::NewFixedPrefixTransform(kIndexHintBytes));
  return {{rocksdb::kDefaultColumnFamilyName, family_options(kMetaMemtableBytes, table)},
          {std::string(kRecordsFamily), records},
          {std::string(kIndexFamily), index},
          {std::string(kChunksFamily), family_options(kChunksMemtableBytes, table)}};
}

rocksdb::DBOptions db_options(const EmbeddedOptions& wanted, bool is_new, WALRecoveryMode mode) {
  rocksdb::DBOptions options;
  if (wanted.env) options.env = wanted.env;
  options.create_if_missing = is_new;
  options.create_missing_column_families = true;
  options.paranoid_checks = true;
  options.wal_recovery_mode = mode;
  // Recovery takes a missing end for a torn write in every log, even in one that other logs follow.
  // So the manifest records how long each of those was; the newest is left to judge_wal().
  options.track_and_verify_wals_in_manifest = true;
  // Recovered writes go to tables at once, so that a torn log is never read a second time with
  // newer logs behind it: judge_wal() would have to call that damage.
  options.avoid_flush_during_recovery = false;
  // The log has everything, so stopping need not wait for a flush.
  options.avoid_flush_during_shutdown = true;
  // A write becomes visible only after its log was synced, so whatever is read is durable. Reads
  // rely on this: these three must stay off.
  options.enable_pipelined_write = false;
  options.unordered_write = false;
  options.manual_wal_flush = false;
  // There is one writer.
  options.allow_concurrent_memtable_write = false;
  // After a failed write RocksDB must not try again by itself.
  options.max_bgerror_resume_count = 0;
  options.max_total_wal_size = kWalBytesMax;
  options.max_background_jobs = 2;
  options.max_open_files = kFilesOpenMax;
  // Tables go to disk in small steps, so that a commit's sync does not wait behind a whole table.
  options.bytes_per_sync = kSmoothWriteBytes;
  options.info_log_level = rocksdb::WARN_LEVEL;
  options.max_log_file_size = kInfoLogBytesMax;
  options.keep_log_file_num = kInfoLogsKept;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  return options;
}

struct Opened {
  std::shared_ptr<LogSwitches> log_switches = std::make_shared<LogSwitches>();
  std::unique_ptr<rocksdb::DB> db;
  std::vector<rocksdb::ColumnFamilyHandle*> families;
};

std::expected<Opened, Status> open_with(const EmbeddedOptions& wanted, bool is_new,
                                        WALRecoveryMode mode) {
  Opened opened;
  rocksdb::DB* db = nullptr;
  rocksdb::DBOptions options = db_options(wanted, is_new, mode);
  options.listeners.push_back(opened.log_switches);
  const Status status =
      rocksdb::DB::Open(options, wanted.path.string(), families(), &opened.families, &db);
  if (!status.ok()) return std::unexpected(status);
  opened.db.reset(db);
  return opened;
}

// With sync: tries the strict mode first, and the lenient mode only if the damage is that of a
// power cut. Without sync: a power cut may lose any number of writes, and point-in-time recovery
// keeps all that precede them.
std::expected<Opened, Status> recover_from_logs(const EmbeddedOptions& wanted) {
  const auto is_new = is_new_store(wanted.path);
  if (!is_new) return std::unexpected(Status::Corruption(is_new.error()));
  auto opened = open_with(wanted, *is_new, WALRecoveryMode::kTolerateCorruptedTailRecords);
  if (opened || !opened.error().IsCorruption()) return opened;
  const WalDamage damage = judge_wal(wanted.path);
  if (wanted.sync && damage != WalDamage::torn) return opened;
  if (damage == WalDamage::inside && wanted.warn) {
    wanted.warn("store " + wanted.path.string() +
                ": its log is damaged, and what was written after the damage is lost: retries of "
                "those keys are executed again. With durability: crash a power cut can cause this");
  }
  return open_with(wanted, *is_new, WALRecoveryMode::kPointInTimeRecovery);
}

std::expected<Opened, Status> recover(const EmbeddedOptions& wanted) {
  try {
    return recover_from_logs(wanted);
  } catch (const std::ios_base::failure& failure) {
    return std::unexpected(Status::IOError(failure.what()));
  } catch (const fs::filesystem_error& failure) {
    return std::unexpected(Status::IOError(failure.what()));
  }
}

// RocksDB ends the process if there is no room for its first files.
std::expected<void, std::string> has_room(const fs::path& path) {
  constexpr std::uint64_t kFreeBytesMin = 8 << 20;
  const auto free = DiskSpace(path, 0).free_bytes();
  if (!free || *free >= kFreeBytesMin) return {};
  return refuse(path, "only " + std::to_string(*free) +
                          " bytes are free on its disk, and it needs " +
                          std::to_string(kFreeBytesMin) + " to open; make room first");
}

// Returns whether the record is known not to own the chunks of `token`. A record that cannot be
// decoded may own them, and whoever repairs it needs them.
bool has_no_chunks(std::string_view encoding, const Token& token) {
  const auto record = decode(encoding);
  return record && (record->answer.body_note != BodyNote::spilled || record->token != token);
}

std::string explain(const Status& status) {
  const std::string text = status.ToString();
  const auto says = [&](std::string_view part) { return text.contains(part); };
  if (status.IsIOError() && (says("lock hold by current process") || says("While lock file"))) {
    return "another semel has it open";
  }
  if (status.IsInvalidArgument() && says("Column families not opened")) {
    return "is not a store of this version of semel: " + text;
  }
  if (status.IsCorruption() || says("No such file or directory")) {
    return "is damaged, and opening it could lose what was acknowledged: " + text +
           ". Restore a backup (semel restore), or see what can be saved (semel store repair); "
           "only if every key in it may be executed again, move it away and start with an empty "
           "one";
  }
  return text;
}

}  // namespace

std::expected<std::unique_ptr<EmbeddedDb>, std::string> EmbeddedDb::open(
    const EmbeddedOptions& options) {
  if (auto ready = prepare_directory(options); !ready) {
    return std::unexpected(std::move(ready).error());
  }
  if (auto room = has_room(options.path); !room) return std::unexpected(std::move(room).error());
  auto lock = DirectoryLock::take(options.path);
  if (!lock) return refuse(options.path, lock.error());
  auto opened = recover(options);
  if (!opened) return refuse(options.path, explain(opened.error()));
  std::unique_ptr<EmbeddedDb> db(new EmbeddedDb(*std::move(lock), std::move(opened->db),
                                                std::move(opened->families),
                                                std::move(opened->log_switches), options));
  if (auto checked = db->check_format(); !checked) {
    return refuse(options.path, checked.error());
  }
  if (auto dropped = db->drop_orphans(); !dropped) return refuse(options.path, dropped.error());
  return db;
}

std::expected<void, std::string> EmbeddedDb::check_format() {
  std::string value;
  Status status = db_->Get({}, meta(), kFormatKey, &value);
  if (status.IsNotFound()) return begin_format();
  if (!status.ok()) return std::unexpected(status.ToString());
  const auto format = parse_number(value, kFormatBytes);
  if (!format) return std::unexpected("its format version is damaged");
  if (*format > kEmbeddedFormat) {
    return std::unexpected("was written by a newer semel, in format " + std::to_string(*format) +
                           "; this one reads up to format " + std::to_string(kEmbeddedFormat));
  }
  status = db_->Get({}, meta(), kVersionsKey, &value);
  const auto limit = parse_number(value, sizeof(Version));
  if (!status.ok() || !limit) {
    return std::unexpected("its version counter cannot be read: " + status.ToString());
  }
  first_version_ = *limit;
  if (*format == kEmbeddedFormat) return {};
  // An older format. Opening has already made the column families that it lacks.
  rocksdb::WriteBatch batch;
  batch.Put(meta(), kFormatKey, number_bytes(kEmbeddedFormat, kFormatBytes));
  status = write(batch);
  if (!status.ok()) return std::unexpected("cannot be written: " + status.ToString());
  return {};
}

// Drops chunks whose answer was never recorded because the process ended in between. Nothing runs
// yet, so a chunk that no record refers to belongs to nobody.
std::expected<void, std::string> EmbeddedDb::drop_orphans() {
  rocksdb::WriteBatch batch;
  const std::unique_ptr<rocksdb::Iterator> entries(db_->NewIterator({}, chunks()));
  entries->SeekToFirst();
  while (entries->Valid()) {
    const auto of = parse_chunk_key(entries->key().ToStringView());
    if (!of) return std::unexpected("a chunk has a malformed key");
    const auto record = get(of->id, Reach::disk);
    if (!record) return std::unexpected(unreadable(of->id, record.error().ToString()).why);
    if (!*record || has_no_chunks((*record)->encoding, of->token)) {
      delete_chunks(batch, of->id, of->token);
    }
    entries->Seek(chunks_prefix(of->id, of->token) +
                  std::string(sizeof(std::uint32_t) + 1, '\xff'));
  }
  if (!entries->status().ok()) return std::unexpected(entries->status().ToString());
  if (batch.Count() == 0) return {};
  const Status status = write(batch);
  if (!status.ok()) return std::unexpected("cannot be written: " + status.ToString());
  return {};
}

std::expected<void, std::string> EmbeddedDb::begin_format() {
  for (auto* family : families_) {
    const std::unique_ptr<rocksdb::Iterator> entries(db_->NewIterator({}, family));
    entries->SeekToFirst();
    if (entries->Valid()) return std::unexpected("is a RocksDB database, but not semel's");
  }
  rocksdb::WriteBatch batch;
  batch.Put(meta(), kFormatKey, number_bytes(kEmbeddedFormat, kFormatBytes));
  batch.Put(meta(), kVersionsKey, number_bytes(first_version_, sizeof(Version)));
  const Status status = write(batch);
  if (!status.ok()) return std::unexpected("cannot be written: " + status.ToString());
  return {};
}

}  // namespace semel::stores
