#pragma once

#include <mutex>
#include <optional>
#include <unordered_map>

#include "stores/embedded/layout.h"

namespace semel {

// The heads of the records in progress, as they were committed last: what ends an execution need
// not read what began it. One that is not in here is to be read. Any thread may ask.
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

}  // namespace semel
