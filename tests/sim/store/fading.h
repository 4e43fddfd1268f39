#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "semel/driver/record.h"

namespace semel::sim {

// Writes that can be seen and are not durable: a commit whose wait for a synchronous standby was
// cut, a write that a failover will not have. Each is there until it fades, unless the record is
// written again meanwhile: the later write is not durable without the earlier one.
class Fading {
 public:
  struct Write {
    std::optional<Record> before;
    Version version = 0;
  };

  void wrote(const RecordId& id, Write write) { writes_.insert_or_assign(id, std::move(write)); }
  void confirm(const RecordId& id) { writes_.erase(id); }
  bool has(const RecordId& id) const { return writes_.contains(id); }
  // The write of this version, if it is to fade now. What is on its way to the server that had it
  // does not reach the one that takes its place.
  std::optional<Write> fade(const RecordId& id, Version version) {
    const auto found = writes_.find(id);
    if (found == writes_.end() || found->second.version != version) return std::nullopt;
    Write write = std::move(found->second);
    writes_.erase(found);
    ++servers_[id];
    return write;
  }
  // Which server writes of this record go to.
  std::uint64_t server_of(const RecordId& id) const {
    const auto found = servers_.find(id);
    return found == servers_.end() ? 0 : found->second;
  }

 private:
  std::map<RecordId, Write> writes_;
  std::map<RecordId, std::uint64_t> servers_;
};

}  // namespace semel::sim
