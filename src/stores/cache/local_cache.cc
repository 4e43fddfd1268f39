#include "stores/cache/local_cache.h"

#include <utility>

namespace semel::stores {
namespace {

namespace asio = boost::asio;

// Memory per record beside its texts, including the nodes of the maps.
constexpr std::size_t kEntryBytes = 1024;

std::size_t bytes_of(const Record& record) {
  std::size_t bytes = kEntryBytes + record.answer.body.capacity() + record.sealed.bytes.capacity() +
                      record.request.capacity() + record.key.size() + record.tenant.size() +
                      record.description.path.size();
  for (const Header& header : record.answer.headers) {
    bytes += sizeof header + header.name.size() + header.value.size();
  }
  for (const DescribedMember& member : record.description.members) {
    bytes += sizeof member + member.pointer.size() + member.value.size();
  }
  for (const HistoryEntry& entry : record.history) bytes += sizeof entry + entry.note.size();
  return bytes;
}

}  // namespace

RecordPtr LocalCache::at_hand(const RecordId& id) {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return nullptr;
  if (kept_for_ && found->second->until <= Clock::now()) {
    remove(found);
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->record;
}

asio::awaitable<RecordPtr> LocalCache::find(RecordId id, Time) {
  co_return at_hand(id);
}

// Keeping a record again does not make it younger: `until` counts from when it was asked for, by
// this machine's steady clock, which nobody sets.
asio::awaitable<void> LocalCache::keep(Record record, Asked asked) {
  auto kept = std::make_shared<const Record>(std::move(record));
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(kept->id);
  if (found != by_id_.end() && kept->updated_at < found->second->record->updated_at) co_return;
  const auto until = kept_for_ ? asked.since + *kept_for_ : Clock::time_point::max();
  put(std::move(kept), until);
}

asio::awaitable<void> LocalCache::drop(Outdated outdated) {
  const std::lock_guard lock(mutex_);
  if (const auto found = by_id_.find(outdated.id); found != by_id_.end()) remove(found);
  co_return;
}

void LocalCache::written(RecordPtr record) {
  const std::lock_guard lock(mutex_);
  ++changes_;
  put(std::move(record), Clock::time_point::max());
}

void LocalCache::erased(const RecordId& id) {
  const std::lock_guard lock(mutex_);
  ++changes_;
  if (const auto found = by_id_.find(id); found != by_id_.end()) remove(found);
}

std::uint64_t LocalCache::changes() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

void LocalCache::read_since(std::uint64_t changes, RecordPtr record) {
  const std::lock_guard lock(mutex_);
  if (changes == changes_) put(std::move(record), Clock::time_point::max());
}

void LocalCache::put(RecordPtr record, Clock::time_point until) {
  const RecordId id = record->id;
  if (const auto found = by_id_.find(id); found != by_id_.end()) remove(found);
  const std::size_t bytes = bytes_of(*record);
  if (bytes > bytes_max_) return;
  while (bytes_ + bytes > bytes_max_) remove(by_id_.find(entries_.back().record->id));
  entries_.push_front({std::move(record), bytes, until});
  by_id_.emplace(id, entries_.begin());
  bytes_ += bytes;
}

void LocalCache::remove(ById::iterator found) {
  bytes_ -= found->second->bytes;
  entries_.erase(found->second);
  by_id_.erase(found);
}

std::size_t LocalCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace semel::stores
