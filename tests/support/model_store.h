#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "semel/driver/store.h"
#include "support/records.h"

namespace semel::support {

// The simplest possible store: a compare-and-swap map that is never wrong, never slow and never
// down. Everything that goes wrong is put around it. Virtual, so that a real store can be
// tried in its place.
class ModelStore {
 public:
  virtual ~ModelStore() = default;

  // Told of every write; `after` is null for a removal.
  using OnWrite = std::function<void(const std::optional<Record>& before, const Record* after)>;

  void on_write(OnWrite told) { told_ = std::move(told); }

  virtual SwapResult swap(const RecordId& id, Version expected, std::optional<Record> next) {
    std::optional<Record> before = read(id);
    if ((before ? before->version : 0) != expected) return swap::Conflict{shared(before)};
    if (!next) {
      records_.erase(id);
      if (told_) told_(before, nullptr);
      return swap::Applied{0};
    }
    next->version = ++last_version_;
    if (told_) told_(before, &*next);
    records_.insert_or_assign(id, std::move(*next));
    return swap::Applied{last_version_};
  }

  virtual std::optional<Record> read(const RecordId& id) const {
    const auto found = records_.find(id);
    if (found == records_.end()) return {};
    return found->second;
  }

  virtual std::vector<RecordPtr> sweep(Time now, std::size_t limit) const {
    std::vector<RecordPtr> due;
    for (const auto& [id, record] : records_) {
      if (due_at(record) <= now) due.push_back(shared(record));
    }
    std::ranges::sort(due, {}, [](const RecordPtr& record) { return due_at(*record); });
    if (due.size() > limit) due.resize(limit);
    return due;
  }

  virtual ScanPage scan(const std::optional<RecordId>& after, std::size_t limit) const {
    ScanPage page;
    auto at = after ? records_.upper_bound(*after) : records_.begin();
    for (; at != records_.end() && page.records.size() < limit; ++at) {
      page.records.push_back(shared(at->second));
    }
    if (at != records_.end()) page.next = page.records.back()->id;
    return page;
  }

  virtual std::map<RecordId, Record> records() const { return records_; }

  // Undoes the last write, as a failover to a server that never had it does: restores the record
  // as it was before, at its old version. Returns false if this store cannot do that.
  virtual bool take_back(const RecordId& id, const std::optional<Record>& before) {
    if (before) {
      records_.insert_or_assign(id, *before);
    } else {
      records_.erase(id);
    }
    return true;
  }

 protected:
  OnWrite told_;

 private:
  std::map<RecordId, Record> records_;
  Version last_version_ = 0;
};

}  // namespace semel::support
