#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "stores/group_commit.h"

namespace rocksdb {
class Env;
}

namespace semel {

struct EmbeddedOptions {
  // A directory; made (0700) if it is not there. One that others may enter is closed to them if it
  // is ours, and refused otherwise.
  std::filesystem::path path;
  // Sync every commit: what was applied survives a power cut. Without, it survives the process.
  bool sync = true;
  // Told of each group that was committed, on the commit thread; may be empty.
  std::function<void(const GroupCommit&)> committed = {};
  // Completed records that are kept at hand, as they are, up to so many bytes; 0: none.
  std::size_t answers_bytes_max = std::size_t{32} << 20;
  // Below so much free space on its disk no new record is taken on; those that are there go on.
  // With half of that left, no chunk is either. 0: no such mark.
  std::uint64_t free_bytes_min = 0;
  // Told, in a sentence for the operator, what was found and mended as it was opened; may be empty.
  std::function<void(const std::string&)> warn = {};
  // How files are reached; null: as RocksDB does by itself. Must outlive the store.
  rocksdb::Env* env = nullptr;
};

}  // namespace semel
