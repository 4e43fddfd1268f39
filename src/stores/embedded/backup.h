#pragma once

#include <expected>
#include <filesystem>
#include <string>

#include "stores/embedded/backup_manifest.h"
#include "stores/embedded/options.h"

// Backups of the embedded store. EmbeddedDb::backup() makes one of a store that is open in this
// process; these are for commands. All block on the disk. Errors are sentences for the operator.
//
//   const auto made = backup_closed_store({.path = "/var/lib/semel"}, "/backup/monday");
//   const auto restored = restore_backup("/backup/monday", "/var/lib/semel");
namespace semel::stores {

// Opens the store, backs it up to the folder `to`, which must not exist, and closes it.
std::expected<StoreBackup, std::string> backup_closed_store(const EmbeddedOptions& options,
                                                            const std::filesystem::path& to);

// Verifies the backup, and then copies it to the folder `to`, which must be empty or not exist. The
// folder appears at once, when everything in it is on disk.
std::expected<BackupManifest, std::string> restore_backup(const std::filesystem::path& from,
                                                          const std::filesystem::path& to);

}  // namespace semel::stores
