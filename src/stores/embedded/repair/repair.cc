// The promise: no record that is found becomes executable because a later state of it was lost. If
// this were broken, a repair would execute again, unasked, what was acknowledged.
#include "stores/embedded/repair/repair.h"

#include <fmt/format.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "core/codec.h"
#include "core/record_bytes.h"
#include "core/record_changes.h"
#include "semel/driver/codec.h"
#include "semel/driver/store.h"
#include "stores/embedded/check.h"
#include "stores/embedded/db.h"
#include "stores/embedded/files.h"
#include "stores/embedded/repair/read_around.h"
#include "stores/embedded/wal.h"

namespace semel::stores {
namespace {

namespace fs = std::filesystem;
using rocksdb::Status;

constexpr std::size_t kBatchBytesMax = 4 << 20;
constexpr std::uint64_t kRepairProgressEvery = 10'000;
constexpr std::uint64_t kRepairSpareBytes = 64 << 20;
// Versions that lost records may have had are left out: more than any log holds.
constexpr Version kVersionsLeftOut = 1'000'000'000;
constexpr const char* kDoubt = "its later states may have been lost in a repair";

std::unexpected<std::string> not_repaired(const fs::path& path, const std::string& why) {
  return std::unexpected("store " + path.string() + ": " + why);
}

// A folder that is gone with this object.
class WorkFolder {
 public:
  explicit WorkFolder(fs::path folder) : folder_(std::move(folder)) {}
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  fs::path damaged() const { return folder_ / "damaged"; }
  fs::path repaired() const { return folder_ / "repaired"; }

 private:
  fs::path folder_;
};

// A copy of the damaged database, open with every check that would keep it shut turned off. Opening
// may change the copy; read-only, RocksDB cannot leave out the recorded lengths of the logs.
class DamagedDb {
 public:
  static std::expected<std::unique_ptr<DamagedDb>, Status> open(const fs::path& path) {
    rocksdb::DBOptions options;
    options.max_open_files = 256;
    options.paranoid_checks = false;
    options.wal_recovery_mode = rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
    std::vector<std::string> names;
    Status status = rocksdb::DB::ListColumnFamilies(options, path.string(), &names);
    if (!status.ok()) return std::unexpected(status);
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    rocksdb::ColumnFamilyOptions as_it_is;
    as_it_is.disable_auto_compactions = true;  // it would stumble over the damage
    for (const std::string& name : names) families.emplace_back(name, as_it_is);
    std::unique_ptr<DamagedDb> made(new DamagedDb);
    rocksdb::DB* db = nullptr;
    status = rocksdb::DB::Open(options, path.string(), families, &made->families_, &db);
    if (!status.ok()) return std::unexpected(status);
    made->db_.reset(db);
    if (!made->family(kRecordsFamily)) return std::unexpected(Status::Corruption("no records"));
    if (!is_readable(made->records())) return std::unexpected(Status::Corruption("no record"));
    return made;
  }
  ~DamagedDb() {
    for (auto* family : families_) db_->DestroyColumnFamilyHandle(family);
  }

  NewIterator records() const {
    return [this] {
      return std::unique_ptr<rocksdb::Iterator>(
          db_->NewIterator(reading(), family(kRecordsFamily)));
    };
  }
  std::optional<std::string> get(std::string_view family_name, const std::string& key) const {
    auto* handle = family(family_name);
    std::string value;
    if (!handle || !db_->Get(reading(), handle, key, &value).ok()) return std::nullopt;
    return value;
  }

 private:
  DamagedDb() = default;
  rocksdb::ColumnFamilyHandle* family(std::string_view name) const {
    for (auto* family : families_) {
      if (family->GetName() == name) return family;
    }
    return nullptr;
  }
  static rocksdb::ReadOptions reading() {
    rocksdb::ReadOptions options;
    options.verify_checksums = true;
    options.fill_cache = false;
    return options;
  }

  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
};

void lose(RepairReport& report, std::string what) {
  ++report.losses_total;
  if (report.losses.size() < kLossesKept) report.losses.push_back(std::move(what));
}

// Stands for a record that is there and cannot be read: its key is never executed again.
Record unreadable_record(Time now) {
  Record record;
  record.state = RecordState::tombstone;
  record.created_at = record.updated_at = now;
  record.operation = "unreadable";
  record.history.push_back({now, record.state, 0, "could not be read in a repair"});
  return record;
}

// Writes the saved records, one by one, into a new store.
class Saving {
 public:
  Saving(const DamagedDb& damaged, EmbeddedDb& repaired, RepairReport& report, Time now,
         const std::function<void(std::uint64_t)>& progress)
      : damaged_(damaged), repaired_(repaired), report_(report), now_(now), progress_(progress) {}

  Status run() {
    read_around(
        damaged_.records(),
        [this](std::string_view key, std::string_view value) { save(key, value); },
        [this](std::string what) { lose(report_, std::move(what)); });
    Version limit = repaired_.first_version();
    if (const auto kept =
            damaged_.get(rocksdb::kDefaultColumnFamilyName, std::string(kVersionsKey))) {
      limit = parse_number(*kept, sizeof(Version)).value_or(limit);
    }
    limit = std::max(limit, last_version_) + kVersionsLeftOut;
    batch_.Put(repaired_.meta(), kVersionsKey, number_bytes(limit, sizeof(Version)));
    write();
    return status_;
  }

 private:
  void save(std::string_view key, std::string_view value) {
    const auto id = parse_id(key);
    if (!id) {
      lose(report_, "a key among the records is not the id of one");
      return;
    }
    const auto head = parse_head(value);
    auto decoded = head ? decode(value.substr(kHeadBytes)) : std::unexpected("it is cut off");
    if (!decoded) {
      lose(report_, "record " + id->hex() + " cannot be read: " + decoded.error());
      ++report_.unreadable;
    }
    Record record = decoded ? *std::move(decoded) : unreadable_record(now_);
    record.id = *id;
    if (is_in_doubt(record)) doubt(record);
    if (record.answer.body_note == BodyNote::spilled && !copy_chunks(record)) {
      lose(report_, "record " + id->hex() + ": a part of its answer cannot be read");
      record.answer = {};
      doubt(record);
    }
    put(record, head ? head->version : 1);
  }

  // Executable, or about to be executed: a later state would have said that it was. A key whose
  // record has expired is new, so it may have been claimed again.
  bool is_in_doubt(const Record& record) const {
    switch (record.state) {
      case RecordState::queued:
      case RecordState::in_progress:
        return true;
      case RecordState::released:
        return true;
      case RecordState::completed:
        return record.expires_at <= now_ && record.tombstone_until <= now_;
      case RecordState::tombstone:
        return record.tombstone_until <= now_;
      case RecordState::unknown:
        return false;
    }
    return true;
  }

  void doubt(Record& record) {
    if (record.state == RecordState::unknown) return;
    core::become_unknown(record, now_, {kDoubt, ReasonCode::none});
    ++report_.made_unknown;
  }

  bool copy_chunks(const Record& record) {
    const std::uint64_t count = (record.answer.spilled_bytes + kChunkBytes - 1) / kChunkBytes;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string key = chunk_key(record.id, record.token, static_cast<std::uint32_t>(i));
      const auto chunk = damaged_.get(kChunksFamily, key);
      if (!chunk) return false;
      batch_.Put(repaired_.chunks(), key, *chunk);
      if (batch_.GetDataSize() > kBatchBytesMax) write();
    }
    return true;
  }

  void put(const Record& record, Version version) {
    Head head{.version = version, .due = due_at(record), .unknown_since = kNever};
    if (record.state == RecordState::unknown) head.unknown_since = record.updated_at;
    const auto first = head_bytes(head);
    batch_.Put(repaired_.records(), core::bytes_of(record.id),
               std::string(first.data(), first.size()) + encode(record));
    for (const auto& [index, at] :
         {std::pair(Index::due, head.due), std::pair(Index::unknown, head.unknown_since)}) {
      if (at != kNever) batch_.Put(repaired_.index(), slice(index_key(index, at, record.id)), {});
    }
    last_version_ = std::max(last_version_, version);
    const std::uint64_t saved = ++report_.records[std::string(to_string(record.state))];
    if (batch_.GetDataSize() > kBatchBytesMax) write();
    if (progress_ && saved % kRepairProgressEvery == 0) progress_(report_.records_total());
  }

  void write() {
    if (status_.ok()) status_ = repaired_.write(batch_);
    batch_.Clear();
  }

  const DamagedDb& damaged_;
  EmbeddedDb& repaired_;
  RepairReport& report_;
  const Time now_;
  const std::function<void(std::uint64_t)>& progress_;
  rocksdb::WriteBatch batch_;
  Version last_version_ = 0;
  Status status_;
};

// Returns what a check says is wrong. Empty: the store is sound, and opening it would work.
std::vector<std::string> damage_of(const fs::path& from) {
  const auto checked = check_embedded_store(from);
  if (!checked) return {checked.error()};
  if (!checked->findings.empty()) return checked->findings;
  rocksdb::DBOptions strict;
  strict.track_and_verify_wals_in_manifest = true;
  strict.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  std::vector<std::string> names;
  Status status = rocksdb::DB::ListColumnFamilies(strict, from.string(), &names);
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const std::string& name : names) families.emplace_back(name, rocksdb::ColumnFamilyOptions());
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  if (status.ok()) {
    status = rocksdb::DB::OpenForReadOnly(strict, from.string(), families, &handles, &opened);
  }
  const std::unique_ptr<rocksdb::DB> db(opened);
  for (auto* handle : handles) db->DestroyColumnFamilyHandle(handle);
  const bool is_only_torn = status.IsCorruption() && judge_wal(from) == WalDamage::torn;
  if (status.ok() || is_only_torn) return {};
  return {status.ToString()};
}

std::expected<void, std::string> copy_damaged(const fs::path& from, const fs::path& to) {
  const auto files = list_files(from);
  if (!files) return std::unexpected(files.error());
  if (auto made = make_private_folder(to); !made) return made;
  std::string newest_manifest;
  bool has_current = false;
  for (const StoreFile& file : *files) {
    if (!is_database_file(file.name)) continue;
    if (file.name == "CURRENT") has_current = true;
    if (file.name.starts_with("MANIFEST-")) newest_manifest = std::max(newest_manifest, file.name);
    if (auto copied = copy_file(from / file.name, to / file.name, GiveUp(false)); !copied) {
      return std::unexpected(copied.error());
    }
  }
  // CURRENT only names the manifest.
  if (has_current || newest_manifest.empty()) return {};
  return write_file(to / "CURRENT", newest_manifest + "\n");
}

// Opens the copy. If that cannot be done as it is, lets RocksDB make a new list of the tables and
// logs that it can read; it leaves out every table with any damage.
std::expected<std::unique_ptr<DamagedDb>, std::string> open_damaged(const fs::path& copy,
                                                                    RepairReport& report) {
  auto opened = DamagedDb::open(copy);
  if (opened) return *std::move(opened);
  lose(report, "the database cannot be opened (" + opened.error().ToString() +
                   "): every table with any damage is left out as a whole");
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const std::string_view name : {std::string_view(rocksdb::kDefaultColumnFamilyName),
                                      kRecordsFamily, kIndexFamily, kChunksFamily}) {
    families.emplace_back(std::string(name), rocksdb::ColumnFamilyOptions());
  }
  rocksdb::DBOptions options;
  options.create_if_missing = true;
  const Status status = rocksdb::RepairDB(copy.string(), options, families);
  if (status.ok()) opened = DamagedDb::open(copy);
  if (status.ok() && opened) {
    const auto left_out = list_files(copy / "lost");
    for (const StoreFile& file : left_out.value_or(std::vector<StoreFile>{})) {
      lose(report, fmt::format("{} ({} bytes) cannot be read", file.name, file.bytes));
    }
    return *std::move(opened);
  }
  return std::unexpected("nothing of it can be read: " +
                         (status.ok() ? opened.error().ToString() : status.ToString()));
}

std::expected<void, std::string> check_places(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (!fs::is_directory(from, error)) return not_repaired(from, "there is no such folder");
  if (fs::exists(to, error) && !(fs::is_directory(to, error) && fs::is_empty(to, error))) {
    return std::unexpected(to.string() + ": is not an empty folder; name a new one");
  }
  if (!fs::is_directory(to.parent_path(), error)) {
    return std::unexpected(to.string() + ": its parent is not a folder that can be used; make it");
  }
  const auto files = list_files(from);
  if (!files) return std::unexpected(files.error());
  std::uint64_t bytes = kRepairSpareBytes;
  for (const StoreFile& file : *files) bytes += 2 * file.bytes;
  return expect_room(to.parent_path(), bytes);
}

std::expected<void, std::string> save_all(const WorkFolder& work, RepairReport& report, Time now,
                                          const std::function<void(std::uint64_t)>& progress) {
  const auto damaged = open_damaged(work.damaged(), report);
  if (!damaged) return std::unexpected(damaged.error());
  {
    const auto repaired = EmbeddedDb::open({.path = work.repaired()});
    if (!repaired) return std::unexpected(repaired.error());
    const Status status = Saving(**damaged, **repaired, report, now, progress).run();
    if (!status.ok()) return std::unexpected("cannot be written: " + status.ToString());
  }
  const auto checked = check_embedded_store(work.repaired());
  if (!checked) return std::unexpected(checked.error());
  if (checked->findings_total > 0) return std::unexpected(checked->findings.front());
  return {};
}

}  // namespace

std::uint64_t RepairReport::records_total() const {
  return std::accumulate(records.begin(), records.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& state) { return sum + state.second; });
}

std::expected<RepairReport, std::string> repair_embedded_store(
    const fs::path& from, const fs::path& wanted, RepairDone done, Time now,
    const std::function<void(std::uint64_t records)>& progress) {
  const fs::path to = whole_path(wanted);
  if (auto checked = check_places(from, to); !checked) return std::unexpected(checked.error());
  RepairReport report;
  report.losses = damage_of(from);
  report.losses_total = report.losses.size();
  if (report.losses.empty())
    return not_repaired(from, "nothing is damaged, so there is nothing to repair");
  const auto lock = DirectoryLock::take(from);
  if (!lock) return not_repaired(from, lock.error() + "; stop it first");
  const fs::path folder = to.string() + ".repairing";
  if (auto made = make_private_folder(folder); !made) return std::unexpected(made.error());
  const WorkFolder work(folder);
  if (auto copied = copy_damaged(from, work.damaged()); !copied) {
    return std::unexpected(copied.error());
  }
  if (auto saved = save_all(work, report, now, progress); !saved) {
    return not_repaired(from, saved.error());
  }
  if (done == RepairDone::rehearse) return report;
  if (std::rename(work.repaired().c_str(), to.c_str()) != 0) {
    return std::unexpected(to.string() + ": cannot be put in place: " + std::strerror(errno));
  }
  if (auto synced = sync_folder(to.parent_path()); !synced) return std::unexpected(synced.error());
  return report;
}

}  // namespace semel::stores
