#pragma once

#include <string>

namespace semel::stores {

// The crash tests run this in a separate process, since a fork would not have the threads of
// RocksDB. main() calls it for the arguments `kWriteUntilKilled PATH sync|no-sync`.
inline constexpr const char* kWriteUntilKilled = "--write-until-killed";
void write_until_killed(const std::string& path, bool sync);

}  // namespace semel::stores
