#include "stores/memory_store.h"

#include <stdexcept>
#include <string>

#include "core/codec.h"

namespace semel::stores {

namespace asio = boost::asio;

asio::awaitable<StoreResult<RecordPtr>> MemoryStore::read(RecordId id) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) co_return nullptr;
  co_return decoded(id, found->second);
}

asio::awaitable<SwapResult> MemoryStore::swap(RecordId id, Version expected,
                                              std::shared_ptr<Record> next) {
  Entry entry;
  if (next) {
    entry.encoding = encode(*next);
    if (entry.encoding.size() > kRecordBytesMax) co_return swap::TooLarge{kRecordBytesMax};
    entry.due = due_at(*next);
    entry.is_work = is_work(*next);
    if (next->state == RecordState::unknown) entry.unknown_since = next->updated_at;
  }

  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  const bool present = found != entries_.end();
  if ((present ? found->second.version : 0) != expected) {
    if (!present) co_return swap::Conflict{};
    co_return swap::Conflict{decoded(id, found->second)};
  }
  if (present) {
    unlist(id, found->second);
    entries_.erase(found);
  }
  if (!next) co_return swap::Applied{};
  entry.version = ++last_version_;
  list(id, entry);
  const Version version = entry.version;
  entries_.emplace(id, std::move(entry));
  co_return swap::Applied{version};
}

asio::awaitable<StoreResult<std::vector<RecordPtr>>> MemoryStore::sweep(Time now,
                                                                        std::size_t limit) {
  const std::lock_guard lock(mutex_);
  const bool removes = !cleanup_ || cleanup_->contains(now);
  std::vector<RecordPtr> records;
  for (const auto& [due, id] : removes ? due_ : due_work_) {
    if (due > now || records.size() == limit) break;
    records.push_back(decoded(id, entries_.at(id)));
  }
  co_return records;
}

asio::awaitable<StoreResult<ScanPage>> MemoryStore::scan(std::optional<RecordId> after,
                                                         std::size_t limit) {
  const std::lock_guard lock(mutex_);
  ScanPage page;
  auto at = after ? entries_.upper_bound(*after) : entries_.begin();
  for (; at != entries_.end() && page.records.size() < limit; ++at) {
    page.records.push_back(decoded(at->first, at->second));
  }
  if (at != entries_.end() && !page.records.empty()) page.next = page.records.back()->id;
  co_return page;
}

StoreFeatures MemoryStore::features() const {
  return {.exclusive = true, .durable = false, .record_bytes_max = kRecordBytesMax};
}

StoreStats MemoryStore::stats() const {
  const std::lock_guard lock(mutex_);
  StoreStats stats{.unknown_records = unknown_.size(), .oldest_unknown = std::nullopt};
  if (!unknown_.empty()) stats.oldest_unknown = unknown_.begin()->first;
  return stats;
}

std::optional<std::string> MemoryStore::trouble() const {
  return std::nullopt;
}

std::shared_ptr<Record> MemoryStore::decoded(const RecordId& id, const Entry& entry) {
  auto record = decode(entry.encoding);
  if (!record) throw std::logic_error("a record does not survive its encoding: " + record.error());
  record->id = id;
  record->version = entry.version;
  return std::make_shared<Record>(*std::move(record));
}

void MemoryStore::unlist(const RecordId& id, const Entry& entry) {
  due_.erase({entry.due, id});
  due_work_.erase({entry.due, id});
  unknown_.erase({entry.unknown_since, id});
}

void MemoryStore::list(const RecordId& id, const Entry& entry) {
  if (entry.due != kNever) due_.emplace(entry.due, id);
  if (entry.due != kNever && entry.is_work) due_work_.emplace(entry.due, id);
  if (entry.unknown_since != kNever) unknown_.emplace(entry.unknown_since, id);
}

}  // namespace semel::stores
