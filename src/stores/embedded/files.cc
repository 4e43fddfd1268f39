#include "stores/embedded/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/hex.h"
#include "base/sha256.h"
#include "stores/disk_space.h"
#include "stores/embedded/wal.h"

namespace semel::stores {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPieceBytes = 1 << 20;
constexpr mode_t kOwnersFile = S_IRUSR | S_IWUSR;

std::unexpected<std::string> file_failed(const fs::path& path, const std::string& what) {
  const std::string why = std::strerror(errno);
  return std::unexpected(path.string() + ": " + what + ": " + why);
}

// An open file or folder. Closed by its destructor.
class FileDescriptor {
 public:
  FileDescriptor(const fs::path& path, int flags, mode_t mode = 0)
      : number_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  ~FileDescriptor() {
    if (number_ >= 0) ::close(number_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }
  bool write_all(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = ::write(number_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
  }

 private:
  int number_;
};

// Reads `in` to its end; `take` returns false if it cannot take a piece.
template <typename Take>
std::expected<StoreFile, std::string> read_all(const fs::path& path, const FileDescriptor& in,
                                               const GiveUp& give_up, Take take) {
  StoreFile file{.name = path.filename().string(), .bytes = 0, .sha256 = {}};
  base::Sha256 sum;
  std::string piece(kPieceBytes, '\0');
  for (;;) {
    if (give_up) return std::unexpected(path.string() + ": given up, because the program ends");
    const ssize_t got = ::read(in.number(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_failed(path, "cannot be read");
    if (got == 0) break;
    const std::string_view bytes(piece.data(), static_cast<std::size_t>(got));
    sum.update(bytes);
    file.bytes += bytes.size();
    if (auto taken = take(bytes); !taken) return std::unexpected(std::move(taken).error());
  }
  const base::Sha256Digest digest = sum.finish();
  file.sha256 = base::encode_hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
  return file;
}

}  // namespace

fs::path whole_path(const fs::path& path) {
  const fs::path whole = fs::absolute(path);
  return whole.has_filename() ? whole : whole.parent_path();
}

std::expected<void, std::string> make_private_folder(const fs::path& folder) {
  if (::mkdir(folder.c_str(), S_IRWXU) == 0) return {};
  if (errno == EEXIST) {
    return std::unexpected(folder.string() + ": exists already; name a folder that does not");
  }
  return file_failed(folder, "cannot create the folder");
}

std::expected<void, std::string> sync_folder(const fs::path& folder) {
  const FileDescriptor opened(folder, O_RDONLY | O_DIRECTORY);
  if (!opened.is_open()) return file_failed(folder, "cannot be opened");
  if (::fsync(opened.number()) != 0) return file_failed(folder, "cannot be synced");
  return {};
}

std::expected<void, std::string> expect_room(const fs::path& folder, std::uint64_t bytes) {
  constexpr std::uint64_t kMebibyte = 1 << 20;
  const auto free = DiskSpace(folder, 0).free_bytes();
  if (!free || *free >= bytes) return {};
  return std::unexpected(fmt::format("{}: {} MiB are needed on its disk, and only {} MiB are free",
                                     folder.string(), bytes / kMebibyte + 1, *free / kMebibyte));
}

bool is_table_name(std::string_view name) {
  return name.ends_with(".sst");
}

bool is_database_file(std::string_view name) {
  return is_table_name(name) || is_log_name(name) || name.starts_with("MANIFEST-") ||
         name.starts_with("OPTIONS-") || name == "CURRENT" || name == "IDENTITY";
}

std::expected<std::vector<StoreFile>, std::string> list_files(const fs::path& folder) {
  std::vector<StoreFile> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (!at->is_regular_file(error) || at->is_symlink(error)) continue;
    files.push_back(
        {.name = at->path().filename().string(), .bytes = at->file_size(error), .sha256 = {}});
  }
  if (error) return std::unexpected(folder.string() + ": cannot be listed: " + error.message());
  std::ranges::sort(files, {}, &StoreFile::name);
  return files;
}

std::expected<StoreFile, std::string> sum_file(const fs::path& file, const GiveUp& give_up) {
  const FileDescriptor in(file, O_RDONLY | O_NOFOLLOW);
  if (!in.is_open()) return file_failed(file, "cannot be opened");
  auto summed = read_all(file, in, give_up,
                         [](std::string_view) -> std::expected<void, std::string> { return {}; });
  if (summed && ::fsync(in.number()) != 0) return file_failed(file, "cannot be synced");
  return summed;
}

std::expected<StoreFile, std::string> copy_file(const fs::path& from, const fs::path& to,
                                                const GiveUp& give_up) {
  const FileDescriptor in(from, O_RDONLY | O_NOFOLLOW);
  if (!in.is_open()) return file_failed(from, "cannot be opened");
  const FileDescriptor out(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, kOwnersFile);
  if (!out.is_open()) return file_failed(to, "cannot be created");
  auto copied =
      read_all(from, in, give_up, [&](std::string_view bytes) -> std::expected<void, std::string> {
        if (!out.write_all(bytes)) return file_failed(to, "cannot be written");
        return {};
      });
  if (copied && ::fsync(out.number()) != 0) return file_failed(to, "cannot be synced");
  return copied;
}

std::expected<void, std::string> write_file(const fs::path& file, const std::string& text) {
  const fs::path unfinished = file.string() + ".tmp";
  {
    const FileDescriptor out(unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, kOwnersFile);
    if (!out.is_open()) return file_failed(unfinished, "cannot be created");
    if (!out.write_all(text) || ::fsync(out.number()) != 0) {
      return file_failed(unfinished, "cannot be written");
    }
  }
  if (::rename(unfinished.c_str(), file.c_str()) != 0) return file_failed(file, "cannot be named");
  return sync_folder(file.parent_path());
}

}  // namespace semel::stores
