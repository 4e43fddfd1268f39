#pragma once

#include <string>

namespace semel {

// What the crash tests run in a process of its own, since a fork would not take the threads of
// RocksDB with it: main() calls it for the arguments `kWriteUntilKilled PATH sync|no-sync`.
inline constexpr const char* kWriteUntilKilled = "--write-until-killed";
void write_until_killed(const std::string& path, bool sync);

}  // namespace semel
