#include "stores/local_cache.h"

#include <utility>

namespace semel {
namespace {

namespace asio = boost::asio;

// What a record takes beside its texts, the maps' nodes included.
constexpr std::size_t kEntryBytes = 1024;

std::size_t bytes_of(const Record& record) {
  std::size_t bytes = kEntryBytes + record.answer.body.size() + record.sealed.bytes.size() +
                      record.request.size() + record.key.size() + record.tenant.size();
  for (const Header& header : record.answer.headers) {
    bytes += sizeof header + header.name.size() + header.value.size();
  }
  for (const HistoryEntry& entry : record.history) bytes += sizeof entry + entry.note.size();
  return bytes;
}

}  // namespace

asio::awaitable<std::optional<Record>> LocalCache::find(RecordId id, Time) {
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) co_return std::nullopt;
  if (found->second->until <= Clock::now()) {
    remove(found);
    co_return std::nullopt;
  }
  entries_.splice(entries_.begin(), entries_, found->second);
  co_return found->second->record;
}

// Looking at a record again does not make it younger: `until` counts from when it was asked for. By
// this machine's steady clock, which nobody sets.
asio::awaitable<void> LocalCache::keep(Record record, Asked asked) {
  const std::size_t bytes = bytes_of(record);
  const std::lock_guard lock(mutex_);
  if (const auto found = by_id_.find(record.id); found != by_id_.end()) {
    if (record.updated_at < found->second->record.updated_at) co_return;
    remove(found);
  }
  if (bytes > bytes_max_) co_return;
  while (bytes_ + bytes > bytes_max_) remove(by_id_.find(entries_.back().record.id));
  const RecordId id = record.id;
  entries_.push_front({std::move(record), bytes, asked.since + kept_for_});
  by_id_.emplace(id, entries_.begin());
  bytes_ += bytes;
}

asio::awaitable<void> LocalCache::drop(Outdated outdated) {
  const std::lock_guard lock(mutex_);
  if (const auto found = by_id_.find(outdated.id); found != by_id_.end()) remove(found);
  co_return;
}

void LocalCache::remove(std::unordered_map<RecordId, Entries::iterator>::iterator found) {
  bytes_ -= found->second->bytes;
  entries_.erase(found->second);
  by_id_.erase(found);
}

std::size_t LocalCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace semel
