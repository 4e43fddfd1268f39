#pragma once

#include <expected>
#include <filesystem>
#include <string>

namespace semel::stores {

// Returns whether a directory has no store yet, or one whose making was cut short before it could
// take a record. The error says what is missing of a store that was there: RocksDB would make a new
// one in its place and delete what is left of it. Changes nothing. Throws
// std::filesystem::filesystem_error if the directory cannot be read.
std::expected<bool, std::string> is_new_store(const std::filesystem::path& directory);

// Keeps other processes out of a store. RocksDB locks a file in it, which does not help any more
// once somebody has deleted that file.
class DirectoryLock {
 public:
  // The error is a sentence for the operator.
  static std::expected<DirectoryLock, std::string> take(const std::filesystem::path& directory);
  DirectoryLock(DirectoryLock&& other) noexcept;
  ~DirectoryLock();
  DirectoryLock& operator=(DirectoryLock&&) = delete;

 private:
  explicit DirectoryLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace semel::stores
