#include "stores/embedded/db.h"

#include <rocksdb/write_batch.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/codec.h"

namespace semel::stores {
namespace {

// A page or a sweep ends early once its records take this many bytes.
constexpr std::size_t kPageBytesMax = 8 << 20;
// A sweep that leaves expired records where they are passes by at most this many. The next one goes
// on behind them.
constexpr std::size_t kPassedByMax = 10'000;

std::optional<Stored> parse_stored(std::string_view value) {
  const auto head = parse_head(value);
  if (!head) return std::nullopt;
  return Stored{.head = *head, .encoding = std::string(value.substr(kHeadBytes))};
}

// Background reads should not push the records of live traffic out of the cache.
rocksdb::ReadOptions background_read() {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  return options;
}

}  // namespace

Time DueFloor::begin() {
  const std::lock_guard lock(mutex_);
  lowest_since_begin_ = kNever;
  return floor_;
}

void DueFloor::end(Time earliest_seen) {
  const std::lock_guard lock(mutex_);
  floor_ = std::min(earliest_seen, lowest_since_begin_);
}

void DueFloor::lower_to(Time due) {
  const std::lock_guard lock(mutex_);
  floor_ = std::min(floor_, due);
  lowest_since_begin_ = std::min(lowest_since_begin_, due);
}

EmbeddedDb::EmbeddedDb(DirectoryLock lock, std::unique_ptr<rocksdb::DB> db,
                       std::vector<rocksdb::ColumnFamilyHandle*> families,
                       std::shared_ptr<LogSwitches> log_switches, const EmbeddedOptions& options)
    : lock_(std::move(lock)),
      db_(std::move(db)),
      families_(std::move(families)),
      log_switches_(std::move(log_switches)),
      path_(options.path),
      free_bytes_min_(options.free_bytes_min),
      sync_(options.sync),
      cleanup_(options.cleanup) {}

EmbeddedDb::~EmbeddedDb() {
  for (auto* family : families_) db_->DestroyColumnFamilyHandle(family);
}

std::expected<std::optional<Stored>, rocksdb::Status> EmbeddedDb::get(
    const RecordId& id, Reach reach, const rocksdb::Snapshot* snapshot) const {
  rocksdb::ReadOptions options;
  if (reach == Reach::memory) options.read_tier = rocksdb::kBlockCacheTier;
  options.snapshot = snapshot;
  rocksdb::PinnableSlice value;
  const rocksdb::Status status = db_->Get(options, records(), core::bytes_of(id), &value);
  if (status.IsNotFound()) return std::nullopt;
  if (!status.ok()) return std::unexpected(status);
  // For a table that is not open, RocksDB reports "may exist" as OK with an empty value. Only a
  // read that may open the table can tell this from damage.
  if (reach == Reach::memory && value.empty()) {
    return std::unexpected(rocksdb::Status::Incomplete("a table is not open"));
  }
  auto stored = parse_stored(value.ToStringView());
  if (!stored) return std::unexpected(rocksdb::Status::Corruption("the value has no head"));
  return stored;
}

std::expected<std::optional<std::string>, rocksdb::Status> EmbeddedDb::get_chunk(
    const RecordId& id, const Token& token, std::uint32_t index) const {
  std::string value;
  const rocksdb::Status status =
      db_->Get(background_read(), chunks(), chunk_key(id, token, index), &value);
  if (status.IsNotFound()) return std::nullopt;
  if (!status.ok()) return std::unexpected(status);
  return value;
}

void EmbeddedDb::delete_chunks(rocksdb::WriteBatch& batch, const RecordId& id,
                               const Token& token) const {
  const std::string prefix = chunks_prefix(id, token);
  // The range excludes its end, which is one byte longer than any index and so sorts behind all.
  batch.DeleteRange(chunks(), prefix, prefix + std::string(sizeof(std::uint32_t) + 1, '\xff'));
}

rocksdb::Status EmbeddedDb::write(rocksdb::WriteBatch& batch) {
  rocksdb::WriteOptions options;
  options.sync = sync_;
  const rocksdb::Status status = db_->Write(options, &batch);
  if (!status.ok() || sync_ || !log_switches_->any()) return status;
  // Even if writes are not synced, a log that other logs follow is: the manifest then records its
  // length, and no power cut can leave later writes without the earlier ones.
  return db_->SyncWAL();
}

StoreResult<std::vector<RecordPtr>> EmbeddedDb::sweep(Time now, std::size_t limit) {
  const std::lock_guard turn(sweeping_);
  const bool removes = !cleanup_ || cleanup_->contains(now);
  if (removes && keeps_expired_) due_floor_.lower_to(Time::min());  // go back to those passed by
  keeps_expired_ = !removes;
  const Time floor = due_floor_.begin();
  rocksdb::ManagedSnapshot snapshot(db_.get());
  rocksdb::ReadOptions options = background_read();
  options.snapshot = snapshot.snapshot();
  const std::unique_ptr<rocksdb::Iterator> entries(db_->NewIterator(options, index()));

  std::vector<RecordPtr> records;
  // A record that cannot be read must not hold up the others; it is an error only if there is
  // nothing else.
  std::optional<StoreUnavailable> damaged;
  std::size_t bytes = 0;
  std::size_t passed_by = 0;
  Time earliest = kNever;
  const auto from = index_key(Index::due, floor, RecordId{});
  for (entries->Seek(slice(from)); entries->Valid(); entries->Next()) {
    const auto entry = parse_index_key(Index::due, entries->key().ToStringView());
    if (!entry) break;
    const bool is_enough =
        records.size() == limit || bytes >= kPageBytesMax || passed_by == kPassedByMax;
    if (removes || is_enough || entry->at > now) earliest = std::min(earliest, entry->at);
    if (entry->at > now || is_enough) break;
    const auto stored = get(entry->id, Reach::disk, snapshot.snapshot());
    if (!stored) return std::unexpected(unreadable(entry->id, stored.error().ToString()));
    if (!*stored) return std::unexpected(unreadable(entry->id, "it is due, but missing"));
    auto record = decode_stored(entry->id, **stored);
    if (!record) {
      earliest = std::min(earliest, entry->at);
      damaged = std::move(record).error();
      continue;
    }
    if (!removes && !is_work(**record)) {
      ++passed_by;
      continue;
    }
    earliest = std::min(earliest, entry->at);
    bytes += (*stored)->encoding.size();
    records.push_back(*std::move(record));
  }
  if (!entries->status().ok()) {
    return std::unexpected(StoreUnavailable{entries->status().ToString()});
  }
  due_floor_.end(earliest);
  if (damaged && records.empty()) return std::unexpected(*std::move(damaged));
  return records;
}

StoreResult<ScanPage> EmbeddedDb::scan(const std::optional<RecordId>& after,
                                       std::size_t limit) const {
  const std::unique_ptr<rocksdb::Iterator> entries(db_->NewIterator(background_read(), records()));
  if (after) {
    entries->Seek(core::bytes_of(*after));
    if (entries->Valid() && entries->key().ToStringView() == core::bytes_of(*after))
      entries->Next();
  } else {
    entries->SeekToFirst();
  }
  ScanPage page;
  std::optional<StoreUnavailable> damaged;  // skipped, as in sweep()
  std::size_t bytes = 0;
  for (; entries->Valid() && page.records.size() < limit && bytes < kPageBytesMax;
       entries->Next()) {
    const auto id = parse_id(entries->key().ToStringView());
    if (!id) return std::unexpected(StoreUnavailable{"a record has a key that is not an id"});
    const auto stored = parse_stored(entries->value().ToStringView());
    if (!stored) return std::unexpected(unreadable(*id, "the value has no head"));
    auto record = decode_stored(*id, *stored);
    if (!record) {
      damaged = std::move(record).error();
      continue;
    }
    bytes += stored->encoding.size();
    page.records.push_back(*std::move(record));
  }
  if (!entries->status().ok()) {
    return std::unexpected(StoreUnavailable{entries->status().ToString()});
  }
  if (damaged && page.records.empty()) return std::unexpected(*std::move(damaged));
  if (entries->Valid() && !page.records.empty()) page.next = page.records.back()->id;
  return page;
}

std::uint64_t EmbeddedDb::count_unknown() const {
  const std::unique_ptr<rocksdb::Iterator> entries(db_->NewIterator(background_read(), index()));
  std::uint64_t count = 0;
  const auto from = index_key(Index::unknown, Time::min(), RecordId{});
  for (entries->Seek(slice(from)); entries->Valid(); entries->Next()) ++count;
  return count;
}

std::optional<Time> EmbeddedDb::first_unknown(Time from) const {
  const std::unique_ptr<rocksdb::Iterator> entries(db_->NewIterator(background_read(), index()));
  entries->Seek(slice(index_key(Index::unknown, from, RecordId{})));
  if (!entries->Valid()) return std::nullopt;
  const auto entry = parse_index_key(Index::unknown, entries->key().ToStringView());
  if (!entry) return std::nullopt;
  return entry->at;
}

StoreUnavailable unreadable(const RecordId& id, const std::string& why) {
  return {.why = "record " + id.hex() + " cannot be read: " + why, .unreadable = true};
}

StoreResult<std::shared_ptr<Record>> decode_stored(const RecordId& id, const Stored& stored) {
  auto record = decode(stored.encoding);
  if (!record) return std::unexpected(unreadable(id, record.error()));
  record->id = id;
  record->version = stored.head.version;
  return std::make_shared<Record>(*std::move(record));
}

}  // namespace semel::stores
