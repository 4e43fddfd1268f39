#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "stores/cleanup_window.h"
#include "stores/group_commit.h"

namespace rocksdb {
class Env;
}

namespace semel::stores {

struct EmbeddedOptions {
  // A directory; created (0700) if absent. If others may enter it, it is closed to them if it is
  // ours, and refused otherwise.
  std::filesystem::path path;
  // Sync every commit, so that applied writes survive a power cut. Otherwise they survive the end
  // of the process only.
  bool sync = true;
  // Called on the commit thread for each committed group; may be empty.
  std::function<void(const GroupCommit&)> committed = {};
  // Keeps up to this many bytes of completed records in memory, decoded; 0: none.
  std::size_t answers_bytes_max = std::size_t{32} << 20;
  // With less free space than this on its disk the store accepts no new record; existing ones go
  // on. With less than half of it, it accepts no chunk either. 0: no limit.
  std::uint64_t free_bytes_min = 0;
  // Called with a sentence for the operator about what was found and repaired while opening; may be
  // empty.
  std::function<void(const std::string&)> warn = {};
  // The hours in which sweep() returns expired records; nullopt: always.
  std::optional<CleanupWindow> cleanup = {};
  // How RocksDB accesses files; null: its default. Must outlive the store.
  rocksdb::Env* env = nullptr;
};

}  // namespace semel::stores
