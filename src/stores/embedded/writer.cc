// The promise: of all swaps that expect the same version of a record at most one is applied, and no
// version is given out twice, not even after a crash. If this were broken, two callers would each
// believe that they hold the claim, and both would execute.
#include "stores/embedded/writer.h"

#include <algorithm>
#include <utility>

namespace semel::stores {
namespace {

// Versions are reserved in blocks, in the same write as the first record that uses one, so that the
// counter costs nothing and a restart begins after every version that was ever given out.
constexpr Version kVersionBlock = 1'000'000;

// A swap is committed one or two groups after its caller has read, so few groups need to be
// remembered.
constexpr std::uint64_t kGroupsPerGeneration = 4;

}  // namespace

EmbeddedWriter::EmbeddedWriter(EmbeddedDb& db)
    : db_(db), next_version_(db.first_version()), version_limit_(db.first_version()) {
  stats_ = {.unknown_records = db.count_unknown(), .oldest_unknown = db.first_unknown(Time::min())};
}

SwapReply EmbeddedWriter::apply(const SwapRequest& request) {
  const RecordId& id = request.id;
  const auto before = current(request);
  if (!before) return unreadable(id, before.error().ToString());
  if (before->version != request.expected) return conflict(id);
  if (request.drop_chunks) db_.delete_chunks(batch_, id, *request.drop_chunks);

  if (!request.next) {
    if (before->version == 0) return swap::Applied{};
    batch_.Delete(db_.records(), core::bytes_of(id));
    move_index(Index::due, id, before->due, kNever);
    move_index(Index::unknown, id, before->unknown_since, kNever);
    touch(id, {.group = group_, .head = {}, .encoding = nullptr});
    return swap::Applied{};
  }

  Head next = request.next->head;
  next.version = next_version();
  const auto head = head_bytes(next);
  const rocksdb::Slice key = core::bytes_of(id);
  const rocksdb::Slice value[] = {slice(head), request.next->encoding};
  batch_.Put(db_.records(), rocksdb::SliceParts(&key, 1), rocksdb::SliceParts(value, 2));
  move_index(Index::due, id, before->due, next.due);
  move_index(Index::unknown, id, before->unknown_since, next.unknown_since);
  touch(id, {.group = group_,
             .head = next,
             .in_progress = request.in_progress,
             .encoding = &request.next->encoding});
  return swap::Applied{next.version};
}

SwapReply EmbeddedWriter::apply(const PutChunk& request) {
  batch_.Put(db_.chunks(), chunk_key(request.id, request.token, request.index), request.bytes);
  return swap::Applied{};
}

SwapReply EmbeddedWriter::apply(const DropChunks& request) {
  db_.delete_chunks(batch_, request.id, request.token);
  return swap::Applied{};
}

rocksdb::Status EmbeddedWriter::commit() {
  if (batch_.Count() > 0) {
    const rocksdb::Status status = db_.write(batch_);
    if (!status.ok()) return status;
    db_.due_floor().lower_to(earliest_due_);
    if (unknown_touched_) update_stats();
  }
  publish_in_progress();  // first, so that whoever sees the group's number sees the heads, too
  committed_.store(group_, std::memory_order_release);
  begin_group();
  return rocksdb::Status::OK();
}

void EmbeddedWriter::begin_group() {
  ++group_;
  batch_.Clear();
  touched_.clear();
  earliest_due_ = earliest_unknown_ = kNever;
  unknown_more_ = 0;
  unknown_touched_ = false;
  if (group_ - young_since_ < kGroupsPerGeneration) return;
  old_ = std::exchange(young_, {});
  remembered_since_ = std::exchange(young_since_, group_);
}

void EmbeddedWriter::touch(const RecordId& id, Latest latest) {
  young_[id] = latest;
  touched_.push_back(id);
}

void EmbeddedWriter::publish_in_progress() {
  for (const RecordId& id : touched_) {
    const Latest& made = young_.at(id);
    if (made.in_progress) {
      in_progress_heads_.keep(id, made.head);
    } else {
      in_progress_heads_.drop(id);
    }
  }
}

const EmbeddedWriter::Latest* EmbeddedWriter::latest(const RecordId& id) const {
  for (const Touched* touched : {&young_, &old_}) {
    if (const auto found = touched->find(id); found != touched->end()) return &found->second;
  }
  return nullptr;
}

std::expected<Head, rocksdb::Status> EmbeddedWriter::current(const SwapRequest& request) const {
  if (const Latest* known = latest(request.id)) return known->head;
  const bool still_holds = request.seen.group + 1 >= remembered_since_;
  if (still_holds) return request.seen.head;
  const auto found = db_.get(request.id, EmbeddedDb::Reach::disk);
  if (!found) return std::unexpected(found.error());
  return *found ? (*found)->head : Head{};
}

SwapReply EmbeddedWriter::conflict(const RecordId& id) const {
  const Latest* known = latest(id);
  if (known && known->group == group_) {
    if (known->head.version == 0) return StoredConflict{};
    return StoredConflict{Stored{.head = known->head, .encoding = *known->encoding}};
  }
  auto found = db_.get(id, EmbeddedDb::Reach::disk);
  if (!found) return unreadable(id, found.error().ToString());
  return StoredConflict{*std::move(found)};
}

StoreStats EmbeddedWriter::stats() const {
  const std::lock_guard lock(stats_mutex_);
  return stats_;
}

Version EmbeddedWriter::next_version() {
  if (next_version_ == version_limit_) {
    version_limit_ += kVersionBlock;
    batch_.Put(db_.meta(), kVersionsKey, number_bytes(version_limit_, sizeof(Version)));
  }
  return next_version_++;
}

void EmbeddedWriter::move_index(Index index, const RecordId& id, Time from, Time to) {
  if (from == to) return;
  if (from != kNever) batch_.Delete(db_.index(), slice(index_key(index, from, id)));
  if (to != kNever) batch_.Put(db_.index(), slice(index_key(index, to, id)), {});
  if (index == Index::due) {
    earliest_due_ = std::min(earliest_due_, to);
  } else {
    earliest_unknown_ = std::min(earliest_unknown_, to);
    unknown_more_ += (to != kNever) - (from != kNever);
    unknown_touched_ = true;
  }
}

void EmbeddedWriter::update_stats() {
  // Starts at the oldest known entry, so that the search does not walk over resolved ones.
  const Time oldest = std::min(stats_.oldest_unknown.value_or(kNever), earliest_unknown_);
  const auto found = db_.first_unknown(oldest);
  const std::lock_guard lock(stats_mutex_);
  stats_.unknown_records += static_cast<std::uint64_t>(unknown_more_);
  stats_.oldest_unknown = found;
}

}  // namespace semel::stores
