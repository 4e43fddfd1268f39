// The promise: a backup that differs in one bit from the one that was made is refused before
// anything is written. If this were broken, a restored store could lack keys that were
// acknowledged.
#include "stores/embedded/backup_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <fstream>
#include <iterator>
#include <numeric>
#include <utility>

#include "stores/embedded/layout.h"

namespace semel::stores {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::uint64_t kBackupFormat = 1;
constexpr std::uint64_t kManifestBytesMax = std::uint64_t{64} << 20;
constexpr std::size_t kSumDigits = 64;

std::unexpected<std::string> refuse_backup(const fs::path& backup, const std::string& why) {
  return std::unexpected("backup " + backup.string() + ": " + why);
}

bool is_file_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && !name.contains('/') &&
         !name.contains('\0');
}

std::expected<std::string, std::string> read_text(const fs::path& backup) {
  const fs::path file = backup / kBackupManifest;
  std::error_code error;
  if (!fs::is_directory(backup, error)) return refuse_backup(backup, "there is no such folder");
  const std::uint64_t bytes = fs::file_size(file, error);
  if (error) {
    return refuse_backup(
        backup,
        "it has no file backup.json, which is written last: the backup is incomplete, or "
        "this folder is none");
  }
  if (bytes > kManifestBytesMax)
    return refuse_backup(backup, "its backup.json is damaged: it is too long");
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in || text.size() != bytes) return refuse_backup(backup, "its backup.json cannot be read");
  return text;
}

// Throws boost::system::system_error if something is missing or of another type.
BackupManifest parse_files(const json::object& text) {
  BackupManifest manifest;
  manifest.time = json::value_to<std::string>(text.at("time"));
  manifest.node = json::value_to<std::string>(text.at("node"));
  for (const json::value& file : text.at("files").as_array()) {
    manifest.files.push_back({.name = json::value_to<std::string>(file.at("name")),
                              .bytes = file.at("bytes").to_number<std::uint64_t>(),
                              .sha256 = json::value_to<std::string>(file.at("sha256"))});
  }
  return manifest;
}

std::expected<void, std::string> verify_file(const fs::path& backup, const StoreFile& wanted) {
  const std::string name = std::string(kBackupStore) + "/" + wanted.name;
  const fs::path file = backup / kBackupStore / wanted.name;
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(file, error))) {
    return refuse_backup(backup, "its file " + name + " is missing");
  }
  const std::uint64_t bytes = fs::file_size(file, error);
  if (error || bytes != wanted.bytes) {
    return refuse_backup(backup,
                         fmt::format("its file {} has {} bytes, and had {} when it was made", name,
                                     error ? 0 : bytes, wanted.bytes));
  }
  const auto summed = sum_file(file, GiveUp(false));
  if (!summed) return refuse_backup(backup, summed.error());
  if (summed->sha256 != wanted.sha256) {
    return refuse_backup(backup,
                         "its file " + name + " is damaged: its SHA-256 is not the recorded one");
  }
  return {};
}

}  // namespace

StoreBackup BackupManifest::total() const {
  return {.files = files.size(),
          .bytes = std::accumulate(
              files.begin(), files.end(), std::uint64_t{0},
              [](std::uint64_t sum, const StoreFile& file) { return sum + file.bytes; })};
}

std::expected<void, std::string> write_manifest(const fs::path& backup,
                                                const BackupManifest& manifest) {
  json::array files;
  for (const StoreFile& file : manifest.files) {
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  }
  const json::object text{{"format", kBackupFormat},     {"time", manifest.time},
                          {"node", manifest.node},       {"store_format", kEmbeddedFormat},
                          {"files_total", files.size()}, {"files", files}};
  return write_file(backup / kBackupManifest, json::serialize(text) + "\n");
}

std::expected<BackupManifest, std::string> read_manifest(const fs::path& backup) {
  const auto text = read_text(backup);
  if (!text) return std::unexpected(text.error());
  try {
    const json::value parsed = json::parse(*text);
    const auto format = parsed.at("format").to_number<std::uint64_t>();
    const auto store_format = parsed.at("store_format").to_number<std::uint64_t>();
    if (format > kBackupFormat || store_format > kEmbeddedFormat) {
      return refuse_backup(backup, "was made by a newer semel; restore it with that one");
    }
    BackupManifest manifest = parse_files(parsed.as_object());
    const auto is_sound = [](const StoreFile& file) {
      return is_file_name(file.name) && file.sha256.size() == kSumDigits;
    };
    if (parsed.at("files_total").to_number<std::uint64_t>() == manifest.files.size() &&
        !manifest.files.empty() && std::ranges::all_of(manifest.files, is_sound)) {
      return manifest;
    }
    return refuse_backup(backup, "its backup.json is damaged: the list of files is not whole");
  } catch (const boost::system::system_error& error) {
    return refuse_backup(backup, "its backup.json is damaged: " + error.code().message());
  }
}

std::expected<void, std::string> verify_backup(const fs::path& backup,
                                               const BackupManifest& manifest) {
  for (const StoreFile& file : manifest.files) {
    if (auto verified = verify_file(backup, file); !verified) return verified;
  }
  const auto found = list_files(backup / kBackupStore);
  if (!found) return refuse_backup(backup, found.error());
  for (const StoreFile& file : *found) {
    if (std::ranges::find(manifest.files, file.name, &StoreFile::name) != manifest.files.end()) {
      continue;
    }
    return refuse_backup(backup, "the file " + std::string(kBackupStore) + "/" + file.name +
                                     " is not part of it; take it away");
  }
  return {};
}

}  // namespace semel::stores
