#pragma once

#include <filesystem>

namespace semel {

// What is wrong with RocksDB's write-ahead log in a directory.
enum class WalDamage {
  none,    // every log reads to its end
  torn,    // the log ends in a write that was never finished, and nothing follows it
  inside,  // a whole write follows the damage: something that was acknowledged may be lost
};

// For a store that syncs every write before it begins the next one. There a power cut can spoil
// only the last write, and that one was never acknowledged; but it may leave a hole in it, since a
// disk writes the pages of one write in any order. Reads the logs, changes nothing. Throws
// std::filesystem::filesystem_error or std::ios_base::failure if they cannot be read.
WalDamage judge_wal(const std::filesystem::path& directory);

// Whether there is a store in the directory and no log at all. RocksDB always keeps one, and opens
// a store without it as if nothing had been written since the last table. Throws as judge_wal()
// does.
bool has_lost_logs(const std::filesystem::path& directory);

}  // namespace semel
