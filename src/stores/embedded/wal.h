#pragma once

#include <filesystem>
#include <string_view>

namespace semel::stores {

// The damage in RocksDB's write-ahead logs in a directory.
enum class WalDamage {
  none,    // every log reads to its end
  torn,    // the log ends in a write that was never finished, and nothing follows it
  inside,  // a whole write follows the damage: something that was acknowledged may be lost
};

// Judges the logs of a store that syncs every write before it begins the next one. There a power
// cut can damage only the last write, which was never acknowledged; but it may leave a hole in that
// write, since a disk writes the pages of one write in any order. Reads the logs, changes nothing.
// Throws std::filesystem::filesystem_error or std::ios_base::failure if they cannot be read.
WalDamage judge_wal(const std::filesystem::path& directory);

// Returns whether RocksDB gives a write-ahead log this name: a number and ".log".
bool is_log_name(std::string_view name);

}  // namespace semel::stores
