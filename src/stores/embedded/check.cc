// Opens the database read-only, so that a store in doubt can be examined before anything mends it
// or makes it worse.
#include "stores/embedded/check.h"

#include <rocksdb/db.h>

#include <memory>
#include <numeric>
#include <optional>

#include "core/codec.h"
#include "core/record_bytes.h"
#include "semel/driver/codec.h"
#include "semel/driver/store.h"
#include "stores/embedded/directory.h"
#include "stores/embedded/layout.h"
#include "stores/embedded/wal.h"

namespace semel::stores {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kProgressEvery = 10'000;

std::unexpected<std::string> cannot_check(const fs::path& path, const std::string& why) {
  return std::unexpected("store " + path.string() + ": " + why);
}

// The database without its writer. Closed by its destructor.
class ReadOnlyDb {
 public:
  static std::expected<std::unique_ptr<ReadOnlyDb>, std::string> open(const fs::path& path) {
    rocksdb::DBOptions options;
    options.max_open_files = 256;  // however many tables there are
    // As the store has it. RocksDB would drop the logs' recorded lengths otherwise, and read-only
    // it ends the process instead.
    options.track_and_verify_wals_in_manifest = true;
    std::vector<std::string> names;
    auto status = rocksdb::DB::ListColumnFamilies(options, path.string(), &names);
    if (!status.ok()) return std::unexpected(status.ToString());
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (const std::string& name : names)
      families.emplace_back(name, rocksdb::ColumnFamilyOptions());
    std::unique_ptr<ReadOnlyDb> made(new ReadOnlyDb);
    rocksdb::DB* db = nullptr;
    status = rocksdb::DB::OpenForReadOnly(options, path.string(), families, &made->families_, &db);
    if (!status.ok()) return std::unexpected(status.ToString());
    made->db_.reset(db);
    return made;
  }
  ~ReadOnlyDb() {
    for (auto* family : families_) db_->DestroyColumnFamilyHandle(family);
  }

  // Null: a store of format 1 has no chunks.
  rocksdb::ColumnFamilyHandle* family(std::string_view name) const {
    for (auto* family : families_) {
      if (family->GetName() == name) return family;
    }
    return nullptr;
  }
  rocksdb::Status get(std::string_view family_name, std::string_view key,
                      std::string& value) const {
    auto* handle = family(family_name);
    if (!handle) return rocksdb::Status::NotFound();
    return db_->Get(reading(), handle, rocksdb::Slice(key.data(), key.size()), &value);
  }
  std::unique_ptr<rocksdb::Iterator> all(std::string_view family_name) const {
    auto* handle = family(family_name);
    return std::unique_ptr<rocksdb::Iterator>(handle ? db_->NewIterator(reading(), handle)
                                                     : rocksdb::NewEmptyIterator());
  }

 private:
  ReadOnlyDb() = default;
  static rocksdb::ReadOptions reading() {
    rocksdb::ReadOptions options;
    options.verify_checksums = true;
    options.fill_cache = false;
    return options;
  }

  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
};

class StoreCheck {
 public:
  StoreCheck(const ReadOnlyDb& db, const std::function<void(std::uint64_t)>& progress)
      : db_(db), progress_(progress) {}

  StoreReport run() && {
    check_format();
    check_records();
    check_index();
    check_chunks();
    return std::move(report_);
  }

 private:
  void find(std::string what) {
    ++report_.findings_total;
    if (report_.findings.size() < kFindingsKept) report_.findings.push_back(std::move(what));
  }
  void find_unreadable(const char* what, const rocksdb::Status& status) {
    if (!status.ok())
      find(std::string("the ") + what + " cannot be read to the end: " + status.ToString());
  }

  void check_format() {
    std::string value;
    const auto status = db_.get(rocksdb::kDefaultColumnFamilyName, kFormatKey, value);
    const auto format = status.ok() ? parse_number(value, kFormatBytes) : std::nullopt;
    if (!format) {
      find("the format version cannot be read: " + status.ToString());
      return;
    }
    report_.format = *format;
    if (*format > kEmbeddedFormat) {
      find("it was written by a newer semel, in format " + std::to_string(*format));
    }
  }

  void check_records() {
    const auto records = db_.all(kRecordsFamily);
    std::uint64_t read = 0;
    for (records->SeekToFirst(); records->Valid(); records->Next()) {
      report_.record_bytes += records->key().size() + records->value().size();
      const auto id = parse_id(records->key().ToStringView());
      if (!id) {
        find("a key among the records is not the id of one");
      } else {
        check_record(*id, records->value().ToStringView());
      }
      if (progress_ && ++read % kProgressEvery == 0) progress_(read);
    }
    find_unreadable("records", records->status());
  }

  void check_record(const RecordId& id, std::string_view value) {
    const std::string name = "record " + id.hex();
    const auto head = parse_head(value);
    if (!head) {
      find(name + " is cut off");
      ++report_.records["unreadable"];
      return;
    }
    const std::string_view encoding = value.substr(kHeadBytes);
    const auto record = decode(encoding);
    if (!record) {
      find(name + " cannot be decoded: " + record.error());
      ++report_.records["unreadable"];
      return;
    }
    ++report_.records[std::string(to_string(record->state))];
    if (head->version == 0) find(name + " has no version");
    if ((record->state == RecordState::unknown) != (head->unknown_since != kNever)) {
      find(name + " is " + std::string(to_string(record->state)) + ", and its head says otherwise");
    }
    check_entry(name, Index::due, head->due, id);
    check_entry(name, Index::unknown, head->unknown_since, id);
    if (const auto token = core::spilled_under(encoding)) {
      check_chunks_of(name, id, *token, record->answer.spilled_bytes);
    }
  }

  void check_entry(const std::string& name, Index index, Time at, const RecordId& id) {
    if (at == kNever) return;
    std::string value;
    const auto key = index_key(index, at, id);
    const auto status = db_.get(kIndexFamily, {key.data(), key.size()}, value);
    if (status.IsNotFound()) {
      find(name + " is missing in the index of " +
           (index == Index::due ? "what is due" : "unknown outcomes"));
    } else if (!status.ok()) {
      find(name + ": the index cannot be read: " + status.ToString());
    }
  }

  void check_chunks_of(const std::string& name, const RecordId& id, const Token& token,
                       std::uint64_t bytes) {
    const std::uint64_t count = (bytes + kChunkBytes - 1) / kChunkBytes;
    for (std::uint64_t i = 0; i < count; ++i) {
      std::string value;
      const auto status =
          db_.get(kChunksFamily, chunk_key(id, token, static_cast<std::uint32_t>(i)), value);
      if (status.ok()) continue;
      find(name + ": chunk " + std::to_string(i) + " of its answer " +
           (status.IsNotFound() ? "is missing" : "cannot be read: " + status.ToString()));
    }
  }

  // From the side of the index: each entry belongs to a record that says the same.
  void check_index() {
    const auto entries = db_.all(kIndexFamily);
    for (entries->SeekToFirst(); entries->Valid(); entries->Next()) {
      ++report_.index_entries;
      const std::string_view key = entries->key().ToStringView();
      const Index index = key.starts_with('d') ? Index::due : Index::unknown;
      const auto entry = parse_index_key(index, key);
      if (!entry) {
        find("an entry of the index cannot be read");
        continue;
      }
      std::string value;
      const auto status = db_.get(kRecordsFamily, core::bytes_of(entry->id), value);
      const auto head = status.ok() ? parse_head(value) : std::nullopt;
      if (head && entry->at == (index == Index::due ? head->due : head->unknown_since)) continue;
      if (!status.ok() && !status.IsNotFound()) continue;  // found among the records already
      find("the index has an entry for record " + entry->id.hex() +
           (head ? " that differs from the record" : ", which does not exist"));
    }
    find_unreadable("index", entries->status());
  }

  // Chunks that no record refers to are no fault: the next start drops them.
  void check_chunks() {
    const auto chunks = db_.all(kChunksFamily);
    for (chunks->SeekToFirst(); chunks->Valid(); chunks->Next()) {
      ++report_.chunks;
      report_.chunk_bytes += chunks->value().size();
      if (!parse_chunk_key(chunks->key().ToStringView())) find("a chunk has a key that is not one");
    }
    find_unreadable("chunks", chunks->status());
  }

  const ReadOnlyDb& db_;
  const std::function<void(std::uint64_t)>& progress_;
  StoreReport report_;
};

std::uint64_t bytes_in(const fs::path& path) {
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(path)) {
    std::error_code gone;
    if (entry.is_regular_file(gone)) bytes += entry.file_size();
  }
  return bytes;
}

}  // namespace

std::uint64_t StoreReport::records_total() const {
  return std::accumulate(records.begin(), records.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& state) { return sum + state.second; });
}

std::expected<StoreReport, std::string> check_embedded_store(
    const fs::path& path, const std::function<void(std::uint64_t records)>& progress) {
  try {
    if (!fs::is_directory(path)) return cannot_check(path, "there is no such folder");
    const auto lock = DirectoryLock::take(path);
    if (!lock) return cannot_check(path, lock.error() + "; stop it first");
    const auto is_new = is_new_store(path);
    if (!is_new) return cannot_check(path, is_new.error());
    if (*is_new) return cannot_check(path, "there is no store in this folder");
    const WalDamage damage = judge_wal(path);
    const auto db = ReadOnlyDb::open(path);
    if (!db) return cannot_check(path, "cannot be read: " + db.error());
    StoreReport report = StoreCheck(**db, progress).run();
    report.disk_bytes = bytes_in(path);
    if (damage == WalDamage::inside) {
      ++report.findings_total;
      report.findings.insert(report.findings.begin(),
                             "a write-ahead log is damaged, and whole writes follow the damage: "
                             "something that was acknowledged may be lost");
    }
    return report;
  } catch (const std::ios_base::failure& error) {
    return cannot_check(path, error.what());
  } catch (const fs::filesystem_error& error) {
    return cannot_check(path, error.code().message());
  }
}

}  // namespace semel::stores
