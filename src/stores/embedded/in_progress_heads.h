#pragma once

#include <mutex>
#include <optional>
#include <unordered_map>

#include "stores/embedded/layout.h"

namespace semel::stores {

// The heads of records in progress, as last committed, so that the swap that ends an execution need
// not read the record that began it. If a head is not here, read the record. Any thread may call.
class InProgressHeads {
 public:
  void keep(const RecordId& id, const Head& head) {
    const std::lock_guard lock(mutex_);
    heads_.insert_or_assign(id, head);
  }
  void drop(const RecordId& id) {
    const std::lock_guard lock(mutex_);
    heads_.erase(id);
  }
  std::optional<Head> find(const RecordId& id) const {
    const std::lock_guard lock(mutex_);
    const auto found = heads_.find(id);
    if (found == heads_.end()) return std::nullopt;
    return found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<RecordId, Head> heads_;
};

}  // namespace semel::stores
