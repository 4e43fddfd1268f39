#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// Folders and files of a store, in the open and as they are copied. Everything blocks on the disk.
// Errors are sentences for the operator that begin with the path.
namespace semel::stores {

// A file, named by its name in its folder.
struct StoreFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::string sha256;  // in hexadecimal digits
};

// Set it from any thread: a copy that runs gives up soon.
using GiveUp = std::atomic<bool>;

// Returns the path from the root, without a slash at its end.
std::filesystem::path whole_path(const std::filesystem::path& path);

// Makes a folder that only its owner may enter. Its parent must exist, and it must not.
std::expected<void, std::string> make_private_folder(const std::filesystem::path& folder);
std::expected<void, std::string> sync_folder(const std::filesystem::path& folder);
// Returns an error if fewer than `bytes` are free for this user where the folder is.
std::expected<void, std::string> expect_room(const std::filesystem::path& folder,
                                             std::uint64_t bytes);

// Returns whether a file of this name is part of the database. Locks, RocksDB's own reports and the
// admin's token are not.
bool is_database_file(std::string_view name);
bool is_table_name(std::string_view name);

// Lists the regular files of a folder by name, without sums.
std::expected<std::vector<StoreFile>, std::string> list_files(const std::filesystem::path& folder);

// Reads the file and syncs it. Returns its size and its sum.
std::expected<StoreFile, std::string> sum_file(const std::filesystem::path& file,
                                               const GiveUp& give_up);
// Copies the file to one that does not exist, readable by its owner only, and syncs it. Returns the
// size and the sum of the bytes that were copied.
std::expected<StoreFile, std::string> copy_file(const std::filesystem::path& from,
                                                const std::filesystem::path& to,
                                                const GiveUp& give_up);
// Writes a new file under another name, syncs it, and gives it its name then.
std::expected<void, std::string> write_file(const std::filesystem::path& file,
                                            const std::string& text);

}  // namespace semel::stores
