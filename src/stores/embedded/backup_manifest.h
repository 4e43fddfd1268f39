#pragma once

#include <expected>
#include <filesystem>
#include <string>
#include <vector>

#include "semel/driver/store.h"
#include "stores/embedded/files.h"

// A backup is a folder:
//
//   backup      = "store/" backup.json
//   store/      = the files of an embedded store, as a crash would have left them
//   backup.json = {"format": 1, "time": "2026-01-31T02:00:00Z", "node": "gw-1", "store_format": 2,
//                  "files_total": 9, "files": [{"name": "CURRENT", "bytes": 16, "sha256": "…"}, …]}
//
// backup.json is written last: a backup without it is incomplete.
namespace semel::stores {

inline constexpr const char* kBackupStore = "store";
inline constexpr const char* kBackupManifest = "backup.json";

struct BackupManifest {
  std::string time;
  std::string node;
  std::vector<StoreFile> files;  // of the folder `store`, by name

  StoreBackup total() const;
};

std::expected<void, std::string> write_manifest(const std::filesystem::path& backup,
                                                const BackupManifest& manifest);
// The errors of both are sentences for the operator.
std::expected<BackupManifest, std::string> read_manifest(const std::filesystem::path& backup);

// Reads every file of the backup. The error names the first one that is missing, cut off, damaged
// or foreign.
std::expected<void, std::string> verify_backup(const std::filesystem::path& backup,
                                               const BackupManifest& manifest);

}  // namespace semel::stores
