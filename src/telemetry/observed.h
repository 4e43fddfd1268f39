#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "semel/driver/record.h"

namespace semel::telemetry {

// The requests of routes in `mode: observe` that are in flight. For reports only: it decides
// nothing. Thread-safe.
class ObservedInFlight {
 public:
  using Digest = std::array<std::uint8_t, 32>;
  enum class Entered { first, duplicate, mismatch };

  // Every enter() must be followed by one leave().
  Entered enter(const RecordId& id, const Digest& fingerprint) {
    std::lock_guard lock(mutex_);
    Entry& entry = entries_.try_emplace(id, Entry{fingerprint, 0}).first->second;
    if (entry.count++ == 0) return Entered::first;
    return entry.fingerprint == fingerprint ? Entered::duplicate : Entered::mismatch;
  }
  void leave(const RecordId& id) {
    std::lock_guard lock(mutex_);
    const auto entry = entries_.find(id);
    if (--entry->second.count == 0) entries_.erase(entry);
  }

 private:
  struct Entry {
    Digest fingerprint;
    std::size_t count;
  };
  std::mutex mutex_;
  std::unordered_map<RecordId, Entry> entries_;
};

}  // namespace semel::telemetry
